package hub

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// rememberCalls is how many requests a topic remembers, so that a response
// can be spelled in a dialect that says more than the response itself does.
const rememberCalls = 4096

// longKey is how many bytes of a key are worth remembering.
const longKey = 1024

// A call is what is remembered of a request, or of a proposal, which some answer
// directly.
type call struct {
	from        string // who asked
	method, key string
	rpcID       []byte   // nil if the request had none
	to          string   // whom it was put to; "": whoever likes may answer
	others      []uint64 // and whom else (see hashOf): there may be hundreds
	proposed    bool     // it is a proposal
}

// asks reports whether an answer of id to the call is wanted.
func (c *call) asks(id string) bool {
	return c.to == "" || c.to == id || len(c.others) > 0 && slices.Contains(c.others, hashOf(id))
}

var seed = maphash.MakeSeed()

// hashOf stands for an id that may be long. The seed is of this process, so nobody outside can find
// two ids with one hash.
func hashOf(id string) uint64 { return maphash.String(seed, id) }

// A requestCache holds the latest requests and proposals of a topic (see order).
type requestCache struct {
	limit int
	calls map[string]call   // by the id of the frame
	alike map[string][]call // what others have asked under the same id as one of calls
	order order
}

// add remembers e if it is a request or a proposal. members are those of the topic, whose
// ids are kept in place of copies.
func (r *requestCache) add(e *wire.Envelope, members map[string]*Member) {
	if e.Kind != wire.Request && e.Kind != wire.Proposal {
		return
	}
	if r.calls == nil {
		r.calls, r.alike, r.order.askers = map[string]call{}, map[string][]call{}, map[string]*asker{}
	}
	c := call{from: kept(e.From, members), method: e.Method, proposed: e.Kind == wire.Proposal}
	if e.Kind == wire.Request {
		c.rpcID = bytes.Clone(e.Message.Get(jsonrpc.ID))
		if len(e.To) > 0 {
			c.to = kept(e.To[0], members)
		}
		if len(e.To) > 1 {
			c.others = make([]uint64, len(e.To)-1)
			for i, to := range e.To[1:] {
				c.others[i] = hashOf(to)
			}
		}
	}
	if len(e.Key) <= longKey {
		c.key = e.Key
	}
	if len(e.To)+len(e.Corr) > 2 || len(e.Spelled) > longKey { // method and key may be parts of a long head, and would keep all of it
		c.method, c.key = strings.Clone(c.method), strings.Clone(c.key)
	}
	q := requestKey{c.from, strings.Clone(e.ID)} // without the rest of the frame's head
	if r.put(q.id, c) {
		return
	}
	if oldest, full := r.order.add(q, r.limit); full {
		r.forget(oldest)
	}
}

// kept is a participant's id without the frame that it stands in.
func kept(id string, members map[string]*Member) string {
	if s := members[id]; s != nil {
		return s.ID
	}
	return strings.Clone(id)
}

// put notes what c.from has asked under an id, in place of what he has asked under it
// before, and reports whether there was such.
func (r *requestCache) put(id string, c call) (known bool) {
	first, ok := r.calls[id]
	if !ok || first.from == c.from {
		r.calls[id] = c
		return ok
	}
	was := r.alike[id]
	rest := slices.DeleteFunc(was, func(o call) bool { return o.from == c.from })
	r.alike[id] = append(rest, c)
	return len(rest) < len(was)
}

func (r *requestCache) forget(q requestKey) {
	rest := r.alike[q.id]
	switch {
	case r.calls[q.id].from != q.from:
		rest = slices.DeleteFunc(rest, func(o call) bool { return o.from == q.from })
	case len(rest) == 0:
		delete(r.calls, q.id)
		return
	default:
		r.calls[q.id], rest = rest[0], rest[1:]
	}
	if r.alike[q.id] = rest; len(rest) == 0 {
		delete(r.alike, q.id)
	}
}

// A match is what a requestCache knows of the requests that a response names.
type match struct {
	call    call // one that it may answer
	found   bool // there is one
	unasked bool // one that it names was put to somebody else

	misled []string // who would take it for an answer to what they have asked somebody else
}

// find looks up what e responds to. A response to a fulfilment may go to the proposer
// alone, so each addressee may be the one who asked, and the sender too: who fulfils asks
// itself (WIRE 7.8). Where none of them has, it is whoever has asked under that id: stock
// callers take what names their request, whoever it is addressed to (WIRE W-5).
func (r *requestCache) find(e *wire.Envelope) (a match) {
	for _, id := range e.Corr {
		c, ok := r.calls[id]
		if !ok {
			continue
		}
		if alike := r.alike[id]; len(alike) > 0 {
			c = a.choose(e, append([]call{c}, alike...))
		}
		if !c.asks(e.From) {
			a.unasked = true
		} else if !a.found {
			a.call, a.found = c, true
		}
	}
	return a
}

// choose returns, of the calls that several made under one id, the one that e answers, if it
// answers any. Who put theirs to somebody else is added to misled, and does not get e.
func (a *match) choose(e *wire.Envelope, all []call) (c call) {
	rank := -1
	for _, one := range all {
		n, wanted := 0, one.asks(e.From)
		if slices.Contains(e.To, one.from) || one.from == e.From && wanted {
			n = 2
		}
		if wanted {
			n++
		} else if one.from != e.From {
			a.misled = append(a.misled, one.from)
		}
		if n > rank {
			rank, c = n, one
		}
	}
	return c
}

// askers returns who has made the requests that e names, if e is none of what may answer
// them but carries MCP by the words of some dialect. What the cache holds bounds the work,
// however much e names.
func (r *requestCache) askers(e *wire.Envelope) (ids []string) {
	switch e.Kind {
	case wire.Request, wire.Notification, wire.Proposal, wire.Withdraw, wire.Reject:
	default:
		return nil
	}
	note := func(c call) {
		if !c.proposed && c.from != e.From {
			ids = append(ids, c.from)
		}
	}
	named := e.Corr
	if len(named) > 1 {
		named = slices.Compact(slices.Sorted(slices.Values(named)))
	}
	for _, id := range named {
		c, ok := r.calls[id]
		if !ok {
			continue
		}
		note(c)
		for _, c := range r.alike[id] {
			note(c)
		}
	}
	return ids
}
