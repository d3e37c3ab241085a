package hub

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// How much is remembered of what was put to participants whose dialect lets an answer
// name no envelope (mcp-x/v0, seed 003).
const (
	mostToOne = 256 // requests put to one participant
	mostByOne = 64  // of those, by one other
)

// A delivery is a request as it was put to somebody.
type delivery struct {
	requestKey
	rpcID []byte // as it was put, so never nil
}

// deliveries hold what was put to each participant of such a dialect, the latest last.
// They outlive sessions: who comes back may still answer. Nobody can push out what others asked
// but by asking more than there is room for, and then his own goes first.
type deliveries struct {
	most  int // participants
	by    map[string][]delivery
	order []string // of by, in the order in which they were first asked
}

// add notes that the request e was put to a participant.
func (r *deliveries) add(to string, e *wire.Envelope) {
	if e.Kind != wire.Request {
		return
	}
	q := delivery{requestKey{strings.Clone(e.From), strings.Clone(e.ID)}, bytes.Clone(e.Message.Get(jsonrpc.ID))}
	if q.rpcID == nil { // mew leaves it out; then the frame's own id is put in its place
		q.rpcID = jsonrpc.AppendQuote(nil, e.ID)
	}
	all, known := r.by[to]
	if !known {
		r.admit(to)
	}
	his, first := 0, 0
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].from == q.from {
			his, first = his+1, i
		}
	}
	switch {
	case his >= mostByOne:
		all = slices.Delete(all, first, first+1)
	case len(all) >= mostToOne:
		all = slices.Delete(all, 0, 1)
	}
	r.by[to] = append(all, q)
}

// admit makes room for one more participant.
func (r *deliveries) admit(id string) {
	if r.by == nil {
		r.by = map[string][]delivery{}
	}
	if len(r.order) >= r.most {
		delete(r.by, r.order[0])
		r.order = slices.Delete(r.order, 0, 1)
	}
	r.order = append(r.order, strings.Clone(id))
}

// find returns the envelope that e, an answer that names none, answers: the latest one
// that was put to its sender under its JSON-RPC id by somebody it is addressed to.
func (r *deliveries) find(e *wire.Envelope) (env string, ok bool) {
	id := e.Message.Get(jsonrpc.ID)
	all := r.by[e.From]
	for i := len(all) - 1; i >= 0; i-- {
		if q := &all[i]; bytes.Equal(q.rpcID, id) && (len(e.To) == 0 || slices.Contains(e.To, q.from)) {
			return q.id, true
		}
	}
	return "", false
}
