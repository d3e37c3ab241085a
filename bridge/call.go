package bridge

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/replay"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// hostID is the caller's id of the client's own calls. No participant can have
// it while they are judged.
const hostID = "host"

// A requestKey names a request of a participant.
type requestKey struct{ from, env string }

// A call is a request at the server. Its number is what the server knows it
// by, and its progress token; ids and tokens of callers never reach the
// server, because two callers may use the same (WIRE W-10).
type call struct {
	origin inflight.Origin
	phase  inflight.Phase
	number uint64 // at the server; 0 before it gets there
	name   string // on record
	began  time.Time
	alarm  *timetable.Entry[func()]

	from    string // the caller; "" for a request of our own
	env     string // its envelope
	id      []byte // its JSON-RPC id, raw; nil if it had none
	elder   *call  // one that its caller made before under the same id, and that is open too
	token   []byte // its progress token, raw; nil if it had none
	method  string
	key     string
	body    replay.Digest  // of the request; zero where none came over the topic
	request *wire.Envelope // as it came; nil once the server has it, as the next two are

	args, beside []byte // what is judged of it; see partsOf

	summedUp bool // refused at once, and counted in the record instead of listed

	life     *proposal.Life // the proposal it serves; nil if none
	self     string         // the envelope of the request to ourselves that says that we serve it; "" before that is made
	standing inflight.Standing

	toldBefore bool // the proposer had been told that we may serve it before that request left
	patient    bool // that is awaited for as long as at a gateway that has returned one

	rival *proposal.Run // whose claim was seen before the echo of ours, at a gateway that may return none

	asks bool // the request is a proposal in the words of a dialect that has none

	decision  policy.Decision
	hold      policy.Hold // what it takes from limits
	took      []policy.Reservation
	question  string            // that was put about it; "" if none was
	digest    string            // of that, the short form
	agreed    *approval.Settled // what was said to it; nil if nobody was asked
	reminders int               // how often its caller was told to wait

	reread uint64 // the listing that it waits for before it starts; 0: none yet

	line  inflight.Line
	lines uint64                   // how many had been written with its own
	then  func(m *jsonrpc.Message) // gets the answer to a request of our own; nil if there is none in time
	left  bool                     // the caller left while it was open

	progress progressing
}

type callerKey struct{ from, id string }

// caller is how its caller refers to the call: by its JSON-RPC id, or by its
// envelope where it gave none.
func (c *call) caller() callerKey {
	if c.origin == inflight.Proposal {
		return callerKey{c.from, "proposal " + c.env} // no JSON-RPC id looks like this
	}
	if c.origin == inflight.Host {
		return hostKey(c.id)
	}
	if c.id == nil {
		return callerKey{c.from, string(jsonrpc.AppendQuote(nil, c.env))}
	}
	return callerKey{c.from, string(c.id)}
}

// hostKey is how the client refers to a call, and the server answers it, both
// by an id that each may write in its own way.
func hostKey(id []byte) callerKey { return callerKey{hostID, jsonrpc.Loosely(id)} }

// on takes a call to the phase after an event, and reports whether there is one.
func (c *call) on(ev inflight.Event) (ok bool) {
	c.phase, ok = c.phase.On(ev)
	return ok
}

// via is the road by which the call came, as rules name it.
func (c *call) via() string {
	if c.origin == inflight.Proposal || c.asks {
		return "proposal"
	}
	return "request"
}

// named is what rules know the call by: its tool, or the prompt it gets.
func (c *call) named() string {
	if c.method == "prompts/get" {
		return c.key
	}
	return c.tool()
}

func (c *call) tool() string {
	if c.method == "tools/call" {
		return c.key
	}
	return ""
}

// occupies reports whether the server may be at work on a call for somebody who is
// not its client.
func (c *call) occupies() bool {
	return (c.origin == inflight.Participant || c.origin == inflight.Proposal) && c.phase != inflight.Overdue
}

// links is what the answer to a call refers to. Stock proposers look at the
// first (WIRE 7.8).
func (c *call) links() []string {
	if c.origin == inflight.Proposal {
		return []string{c.self, c.life.ID}
	}
	return []string{c.env}
}

// runsWith are the arguments with which a call runs.
func (c *call) runsWith() []byte {
	if c.agreed != nil && len(c.agreed.Modified) > 0 {
		return c.agreed.Args
	}
	return c.args
}
