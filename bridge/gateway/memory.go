package gateway

import (
	"bytes"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// rememberCalls is how many requests a topic remembers, so that a response
// can be spelled in a dialect that says more than the response itself does.
const rememberCalls = 4096

// longKey is how many bytes of a key are worth remembering.
const longKey = 1024

// A call is what is remembered of a request.
type call struct {
	method, key string
	rpcID       []byte // nil if the request had none
}

// A question names a request: who asked, and the id of the frame. By the id
// alone one participant could overwrite what another one asked.
type question struct{ from, id string }

// A memory holds the latest requests of a topic and forgets the oldest first.
type memory struct {
	limit int
	calls map[question]call
	order []question
	next  int // where the oldest stands, once order is full
}

// add remembers e if it is a request.
func (m *memory) add(e *wire.Envelope) {
	if e.Kind != wire.Request {
		return
	}
	if m.calls == nil {
		m.calls = map[question]call{}
	}
	q := question{e.From, e.ID}
	c := call{method: e.Method, rpcID: bytes.Clone(e.Message.Get(jsonrpc.ID))}
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

// find returns the request that e responds to. A response to a fulfilment also
// goes to the proposer, so each addressee may be the one who asked.
func (m *memory) find(e *wire.Envelope) (call, bool) {
	for _, id := range e.Corr {
		for _, to := range e.To {
			if c, ok := m.calls[question{to, id}]; ok {
				return c, true
			}
		}
	}
	return call{}, false
}
