package bridge

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
)

// calls are the requests at the server.
type calls struct {
	mark     string // begins their ids at the server; see id
	last     uint64
	named    uint64
	byNumber map[uint64]*call     // at the server
	open     map[requestKey]*call // by envelope: those whose callers await an answer
	byCaller map[callerKey]*call  // the same as their callers refer to them; the newest where one id serves for several
	asked    map[string]*call     // those that are asked about, by the question
	syncing  map[uint64]*call     // by the ticket that says when their being agreed to is on disk; over, perhaps
	parked   []*call              // those that wait for the server, or have until they were over
	foreign  int                  // those of participants who still await an answer
	running  int                  // those of them at the server
	timeouts int                  // in a row
	lost     []lostAnswer         // of them
}

func newCalls(mark string) calls {
	return calls{mark: mark, byNumber: map[uint64]*call{}, byCaller: map[callerKey]*call{}, open: map[requestKey]*call{},
		asked: map[string]*call{}, syncing: map[uint64]*call{}}
}

// add gives a call its number at the server.
func (cs *calls) add(c *call) {
	c.on(inflight.Start)
	c.line = inflight.Written
	cs.last++
	c.number = cs.last
	cs.byNumber[c.number] = c
	if c.origin != inflight.Self {
		cs.running++
	}
}

// byQuestion finds the call that a question is about, nil if it is over.
func (cs *calls) byQuestion(q *approval.Question) *call {
	return cs.open[requestKey{q.Caller, q.Envelope}]
}

// enter takes a call into the books. Participants use ids again as they like
// (WIRE W-10): each call under one keeps its place, and its answer.
func (cs *calls) enter(c *call) {
	key := c.caller()
	c.elder = cs.byCaller[key]
	cs.byCaller[key] = c
	cs.open[requestKey{c.from, c.env}] = c
	cs.foreign++
}

// meant are the calls that a participant refers to by a JSON-RPC id: all that
// it made under it, or the one whose envelope it names too.
func (cs *calls) meant(from, id string, envelopes []string) (all []*call) {
	for c := cs.byCaller[callerKey{from, id}]; c != nil; c = c.elder {
		if slices.Contains(envelopes, c.env) {
			return []*call{c}
		}
		all = append(all, c)
	}
	slices.Reverse(all)
	return all
}

// leave takes a call that was entered out of what its caller can refer to.
func (cs *calls) leave(c *call) {
	delete(cs.open, requestKey{c.from, c.env})
	key := c.caller()
	switch younger := cs.byCaller[key]; {
	case younger != c:
		for younger.elder != c {
			younger = younger.elder
		}
		younger.elder = c.elder
	case c.elder != nil:
		cs.byCaller[key] = c.elder
	default:
		delete(cs.byCaller, key)
	}
	c.elder = nil
}

func (cs *calls) nameOf(question string) string {
	if c := cs.asked[question]; c != nil {
		return c.name
	}
	return ""
}

// settle: the caller has had its last word on this. The number stays taken
// until the server is done with it.
func (cs *calls) settle(c *call) {
	if c.phase.Settled() {
		return
	}
	started := !c.phase.Unstarted()
	c.on(inflight.Settle)
	if c.origin == inflight.Self {
		return
	}
	cs.foreign--
	cs.leave(c)
	if started {
		cs.running--
	}
}

// unstarted are the calls that were agreed to and have not started, the oldest
// first.
func (cs *calls) unstarted() []*call {
	all := slices.Clone(cs.parked)
	for _, ticket := range slices.Sorted(maps.Keys(cs.syncing)) {
		all = append(all, cs.syncing[ticket])
	}
	return all
}

func (cs *calls) inOrder() []*call {
	return slices.SortedFunc(maps.Values(cs.byNumber), func(a, b *call) int { return cmp.Compare(a.number, b.number) })
}

// id is the number of a call as the server gets it, raw.
func (cs *calls) id(c *call) []byte {
	if cs.mark == "" {
		return strconv.AppendUint(nil, c.number, 10)
	}
	id := append(append(make([]byte, 0, len(cs.mark)+22), '"'), cs.mark...)
	return append(strconv.AppendUint(id, c.number, 10), '"')
}

// find returns the call that the server means by a raw id or token, nil if it
// is none of ours.
func (cs *calls) find(id []byte) *call {
	if cs.mark != "" {
		marked := false
		if id, marked = bytes.CutPrefix(id, []byte(`"`+cs.mark)); !marked || !bytes.HasSuffix(id, []byte(`"`)) {
			return nil
		}
		id = id[:len(id)-1]
	}
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return nil
	}
	if c := cs.byNumber[n]; c != nil && c.origin != inflight.Host { // the client's own the server knows by another id
		return c
	}
	return nil
}

// A lostAnswer is one of which it is not known whose it was.
type lostAnswer struct {
	reason string
	among  []uint64 // the calls that were at the server then and still are, in order
}

// newest is the last call that it may have been for, 0 if there is none left. Of two
// lost answers the one whose newest call is older may have been for no call that the
// other cannot have been for: each set has all calls that were there and still are.
func (l *lostAnswer) newest() uint64 {
	if len(l.among) == 0 {
		return 0
	}
	return l.among[len(l.among)-1]
}
