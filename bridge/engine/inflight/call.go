package inflight

import (
	"bytes"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/replay"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// HostID is the caller's id of the client's own calls. No participant can have
// it while they are judged.
const HostID = "host"

// A RequestKey names a request of a participant.
type RequestKey struct{ From, Env string }

// A Call is a request at the server. Its number is what the server knows it
// by, and its progress token; ids and tokens of callers never reach the
// server, because two callers may use the same (WIRE W-10).
type Call struct {
	Origin Origin
	Phase  Phase
	Number uint64 // at the server; 0 before it gets there
	Name   string // on record
	Began  time.Time
	Alarm  *timetable.Entry[any]

	From    string // the caller; "" for a request of our own
	Env     string // its envelope
	ID      []byte // its JSON-RPC id, raw; nil if it had none
	elder   *Call  // one that its caller made before under the same id, and that is open too
	Token   []byte // its progress token, raw; nil if it had none
	Method  string
	Key     string
	Body    replay.Digest  // of the request; zero where none came over the topic
	Request *wire.Envelope // as it came; nil once the server has it, as the next two are

	Args, Beside []byte // what is judged of it; see meta.Parts
	Why          string // why its caller makes it, in its own words; "" if it does not say

	SummedUp bool // refused at once, and counted in the record instead of listed

	Life  *proposal.Life // the proposal it serves; nil if none
	Self  string         // the envelope of the request to ourselves that says that we serve it; "" before that is made
	Claim ClaimState

	ToldBefore bool // the proposer had been told that we may serve it before that request left
	Patient    bool // that is awaited for as long as at a gateway that has returned one

	Rival    *proposal.Run    // whose claim was seen before the echo of ours, at a gateway that may return none
	RivalEnd *proposal.Result // what came of it, if that was seen too

	Asks bool // the request is a proposal in the words of a dialect that has none

	Decision  policy.Decision
	Hold      policy.Hold // what it takes from limits
	Took      []policy.Reservation
	Question  string            // that was put about it; "" if none was
	Digest    string            // of that, the short form
	Agreed    *approval.Settled // what was said to it; nil if nobody was asked
	Revoked   bool              // that was a yes of before, which was taken back since
	Reminders int               // how often its caller was told to wait

	Inside []plan.Place // where what was looked up found no link that leads out

	Reread uint64 // the listing that it waits for before it starts; 0: none yet

	Line  Line
	Lines uint64                   // how many had been written with its own
	Then  func(m *jsonrpc.Message) // gets the answer to a request of our own; nil if there is none in time
	Left  bool                     // the caller left while it was open

	Progress Progress
}

type callerKey struct{ from, id string }

// caller is how its caller refers to the call: by its JSON-RPC id, or by its
// envelope where it gave none.
func (c *Call) caller() callerKey {
	if c.Origin == Proposal {
		return callerKey{c.From, "proposal " + c.Env} // no JSON-RPC id looks like this
	}
	if c.Origin == Host {
		return HostKey(c.ID)
	}
	if c.ID == nil {
		return callerKey{c.From, string(jsonrpc.AppendQuote(nil, c.Env))}
	}
	return callerKey{c.From, string(c.ID)}
}

// HostKey is how the client refers to a call, and the server answers it, both
// by an id that each may write in its own way.
func HostKey(id []byte) callerKey { return callerKey{HostID, jsonrpc.Loosely(id)} }

// On takes a call to the phase after an event, and reports whether there is one.
func (c *Call) On(ev Event) (ok bool) {
	c.Phase, ok = c.Phase.On(ev)
	return ok
}

// Via is the road by which the call came, as rules name it.
func (c *Call) Via() string {
	if c.Origin == Proposal || c.Asks {
		return "proposal"
	}
	return "request"
}

// Named is what rules know the call by: its tool, or the prompt it gets.
func (c *Call) Named() string {
	if c.Method == "prompts/get" {
		return c.Key
	}
	return c.Tool()
}

// Tool is what it calls, "" for another method than tools/call.
func (c *Call) Tool() string {
	if c.Method == "tools/call" {
		return c.Key
	}
	return ""
}

// Occupies reports whether the server may be at work on a call for somebody who is
// not its client.
func (c *Call) Occupies() bool {
	return (c.Origin == Participant || c.Origin == Proposal) && c.Phase != Overdue
}

// Links is what the answer to a call refers to. Stock proposers look at the
// first (WIRE 7.8).
func (c *Call) Links() []string {
	if c.Origin == Proposal {
		return []string{c.Self, c.Life.ID}
	}
	return []string{c.Env}
}

// RunsWith are the arguments with which a call runs.
func (c *Call) RunsWith() []byte {
	if c.Agreed != nil && len(c.Agreed.Modified) > 0 {
		return c.Agreed.Args
	}
	return c.Args
}

// MayJustify reports whether a request may say why it is made: it costs next to nothing to see that it does not.
func MayJustify(m *jsonrpc.Message) bool {
	meta := m.Get(jsonrpc.Meta)
	return len(meta) > 0 && meta[0] == '{' && bytes.Contains(meta, []byte(`"`+approval.JustificationKey+`"`))
}
