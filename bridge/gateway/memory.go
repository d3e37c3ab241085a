package gateway

import (
	"bytes"
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
	method, key string
	rpcID       []byte   // nil if the request had none
	to          string   // whom it was put to; "": whoever likes may answer
	others      []string // and whom else
}

// asks reports whether an answer of id to the call is wanted.
func (c *call) asks(id string) bool { return c.to == "" || c.to == id || slices.Contains(c.others, id) }

// A question names a request: who asked, and the id of the frame. By the id
// alone one participant could overwrite what another one asked.
type question struct{ from, id string }

// A memory holds the latest requests and proposals of a topic and forgets the oldest first.
type memory struct {
	limit int
	calls map[question]call
	order []question
	next  int // where the oldest stands, once order is full
}

// add remembers e if it is a request or a proposal. seats are those of the topic, whose
// ids are kept in place of copies.
func (m *memory) add(e *wire.Envelope, seats map[string]*seat) {
	if e.Kind != wire.Request && e.Kind != wire.Proposal {
		return
	}
	if m.calls == nil {
		m.calls = map[question]call{}
	}
	q := question{e.From, e.ID}
	c := call{method: e.Method}
	if e.Kind == wire.Request {
		c.rpcID = bytes.Clone(e.Message.Get(jsonrpc.ID))
		for i, to := range e.To {
			if s := seats[to]; s != nil {
				to = s.id
			} else {
				to = strings.Clone(to)
			}
			if i == 0 {
				c.to = to
			} else {
				c.others = append(c.others, to)
			}
		}
	}
	if len(e.Key) <= longKey {
		c.key = e.Key
	}
	_, known := m.calls[q]
	if !known { // without the rest of the frame's head
		q = question{strings.Clone(e.From), strings.Clone(e.ID)}
	}
	m.calls[q] = c
	switch {
	case known:
	case len(m.order) < m.limit:
		m.order = append(m.order, q)
	default:
		delete(m.calls, m.order[m.next])
		m.order[m.next] = q
		m.next = (m.next + 1) % m.limit
	}
}

// find returns the request that e responds to, one that was put to its sender if there
// is one. A response to a fulfilment may go to the proposer alone, so each addressee may
// be the one who asked, and the sender too: who fulfils asks itself (WIRE 7.8).
func (m *memory) find(e *wire.Envelope) (c call, found bool) {
	for _, id := range e.Corr {
		for i := range len(e.To) + 1 {
			asker := e.From
			if i < len(e.To) {
				asker = e.To[i]
			}
			if one, ok := m.calls[question{asker, id}]; ok && (!found || one.asks(e.From)) {
				c, found = one, true
				if c.asks(e.From) {
					return c, true
				}
			}
		}
	}
	return c, found
}
