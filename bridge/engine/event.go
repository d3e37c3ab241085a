// Package engine is all judgement of a bridge, in one place without I/O: the [Engine] is
// told what happened and returns what is to be done. A call takes one road:
//
//	Arrived -> addressed to exactly us? -> seen before? -> read in one way only?
//	        -> has the server come up once? else it waits for that
//	        -> method known? tool offered? arguments fit its inputSchema?
//	        -> policy -> ask? question -> yes, on disk -> looked at again
//	        -> room for it? -> on record -> Write to the server
//	ServerSaid -> whose call? -> on record -> Send to the caller, with its id back
//
// What somebody proposes joins that road as soon as it is ours to serve (see
// [proposal.Book]); where the road ends early its proposer hears a reject:
//
//	Arrived -> Book: ours, and now? -> tool offered? … -> policy, raised to a
//	           question unless the owner said otherwise -> on disk
//	        -> Send a request to ourselves, for all to see -> Write to the server
//
// These are all ways to start a call; a halt, a full record and the end of the bridge bar
// each of them. What the Engine knows of calls, tools, earlier requests and held answers is
// kept in packages below it, which never call it: what desk and Book say goes into one
// queue, which [Engine.Step] drains. Package bridge carries out what the Engine says.
//
// What is where, from below; each file uses only those listed before it:
//
//	event       what the Engine is told, what it says is to be done, and with what it is made
//	engine      what it knows, types and all; its queue; whose share something is
//	call        a call as it is judged and as the server gets it; what the server asks meanwhile
//	answer      whose an answer is, whom it is for, how it leaves; a refusal in place of one
//	notify      progress, subscriptions, reminders; what is refused or dropped before it is a call
//	policy      what the rules say of a call, an open question, a plan, a tool; a policy put in force
//	unanswered  what waits for the server to come up, and what ends without an answer
//	contest     who serves a proposal, and what its proposer hears of us
//	server      the server comes, goes, and says what it has; what waits for its tools
//	request     a request, from its frame to its start
//	owner       halt, resume, and a policy file that lets more through
//	approval    a call that somebody must agree to
//	proposal    a call that somebody proposes; our claim that came back
//	room        who is there, and our seat
//	step        each event finds who takes it; the disk, the client's own calls, the end of the bridge
package engine

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Config is what an Engine is made with. It must not change afterwards.
type Config struct {
	Policy   *policy.Policy   // what may run; nil denies everything
	Backed   *policy.Policy   // the last one that somebody stood behind, see judgeFile; nil: Policy
	NewID    func() string    // a fresh envelope id, unique in the world; required
	Random   func() [16]byte  // 128 fresh random bits, for questions; required
	Timeout  time.Duration    // the server's time for one request; default 60 s
	MaxCalls int              // requests at the server at one time; default 1024
	Desk     approval.Options // bounds of the desk; Random is the Engine's

	Session string // begins the names of calls on record, so that they are unique over restarts
	Topic   string // the topic we sit at, for people
	Gateway string // which gateway keeps it, for people and for what they agree to for long; "": this machine's own
	Server  string // what we wrap, for people at this machine
	Program string // its name alone, for the topic

	// For what people agree to for long, and never said in the topic: the directory in
	// which the server was started, and an HMAC of its command line and environment.
	Dir, Command string

	// IDPrefix begins our ids at a server that others may talk to as well. It must
	// be letters and digits, which no encoder escapes, and unique in the world.
	// "": the server is ours alone, and our ids are numbers.
	IDPrefix string

	// Hosted: the server belongs to a client beside us, who greets it. Requests
	// wait for that, 10 s at most. It needs an IDPrefix.
	Hosted bool

	// HostIDPrefix begins the ids of what we ask the client that a Hosted server
	// belongs to. Random, and the server must not learn it: it could have its own
	// question taken for ours. With it the client's own tools/calls are judged;
	// "": they are none of our business.
	HostIDPrefix string

	Local           bool // somebody at this machine can be asked
	Verified        bool // the gateway is this machine's own, which makes sure who speaks in any dialect
	TrustUnverified bool // participants may decide though the gateway does not verify who speaks

	Provides       []string         // what the server is for, beside what the policy says
	Proposals      proposal.Options // bounds of the Book
	ProposalStyle  wire.Style       // in which words what becomes of proposals is said; Auto: those of the proposal
	LenientParams  bool             // read params.tool of a proposal as params.name (seed 000)
	ToolsRequest   bool             // take tools/request for a proposal, in the dialect that has no other (WIRE 6.2)
	ProposalStatus bool             // say how it stands with proposals, to those who may understand that (seed 001, option 8)

	Ledger    policy.Ledger // what calls of earlier runs took from limits; the Engine takes it over
	Seen      []Seen
	Halted    *Halted  // how an earlier run was halted, as this one is from its beginning; nil: it was not
	Share     int      // requests of one participant that are known again at one time; default [replay.DefaultShare]
	DigestKey [32]byte // of Body in a [record.Record]; secret, and the same as that of the runs that Seen is of
}

// Seen is a request that an earlier run of the bridge has taken. It will not
// be taken again (DESIGN section 14, "Once").
type Seen struct {
	From, Env string
	At        time.Time
	Body      string // as it was on record; "" if it was not
}

// An Event is something that happened, as the Engine is told of it.
type Event interface{ event() }

type (
	// Seated: the gateway welcomed us, for the first time, again after the
	// seat was lost, or in passing with changed capabilities (mew).
	Seated struct {
		Dialect wire.Dialect
		Welcome wire.Welcome
	}

	// Unseated: the link to the gateway is gone.
	Unseated struct{ Err error }

	// Arrived: a frame came from the topic. The Engine may keep parts of it.
	Arrived struct{ Envelope *wire.Envelope }

	// Garbled: a frame came that could not be accepted as an envelope.
	Garbled struct{ Refused *wire.Refused }

	// ServerUp: the server has answered the handshake.
	ServerUp struct{ Hello Hello }

	// ServerSaid: the server wrote a message. The Engine may keep parts of it.
	ServerSaid struct{ Message jsonrpc.Message }

	// ServerNoise: the server wrote a line that is no message.
	ServerNoise struct {
		Reason string
		Head   []byte // the first bytes of the line, not escaped
		Count  int    // since the server started
		Answer bool   // the line would have been an answer
		ID     []byte // of that; nil if it cannot be told
	}

	// ServerDown: the server is gone, and with it every call it was working
	// on.
	ServerDown struct {
		Reason   string // in one word
		Cause    string // in a few, without a subject: "exited with status 1"
		ExitCode int
		Signal   string
		Stderr   []string      // its last lines
		Unsent   int           // lines accepted by Write that had not wholly left
		Retry    time.Duration // until it is started again; negative: never
	}

	// NotWritten: a Write could not be queued. The server never saw it.
	NotWritten struct {
		Call   uint64
		Err    error
		Halted *Halted // the bridge was halted before it left; nil: Err says why
	}

	// NotSent: a Send could not be queued.
	NotSent struct {
		Send Send
		Gone bool // there is no seat; otherwise the way out is full
	}

	// Decided: somebody at this machine, or behind the calling desktop
	// client, answered a question.
	Decided struct{ Answer approval.Answer }

	// HostCalled: the client that the server belongs to made a tools/call,
	// which is judged. Line is all it wrote; the Engine keeps it. It, and
	// the four after it, need [Config].HostIDPrefix.
	HostCalled struct {
		Line    []byte
		Message jsonrpc.Message
	}

	// HostCancelled: it takes back the call with a raw id, in these words.
	HostCancelled struct{ Line, ID []byte }

	// HostReplied: it answered something that we asked it.
	HostReplied struct{ Message jsonrpc.Message }

	// HostAnswered: the server answered it, past us.
	HostAnswered struct {
		ID      []byte // raw; nil: some take it for the answer to another call than others do
		Outcome string // ok, tool_error, error, or unknown
	}

	// HostLeft: it hears nothing any more.
	HostLeft struct{}

	// Revoked: the person at this machine takes back what is remembered under
	// this id.
	Revoked struct{ Grant string }

	// Synced: the records before the Sync are on disk, or cannot be put there.
	Synced struct {
		Ticket uint64
		Err    error
	}

	// Looked: of the places of a Look these are where their spelling says; where the others
	// are, nobody can tell, or links lead out of their folders.
	Looked struct {
		Ticket uint64
		Inside []plan.Place
	}

	// Unrecorded: the records before these calls could not be written, so
	// their lines were not put on their way either. Nor were the Results, whose
	// calls have run.
	Unrecorded struct {
		Calls   []uint64
		Results []Send
		Ends    []string // of the calls whose last words are not on record, as Call names them
		Written bool     // the records may be there all the same, the starts of Calls among them
		Err     error
	}

	// AuditUp: records can be written again.
	AuditUp struct{}

	// Reloaded: another policy is in force, and somebody stands behind it.
	Reloaded struct{ Policy *policy.Policy }

	// Saved: the policy file says another one now. What lets more through than
	// the policy in force waits for a yes at this machine.
	Saved struct {
		Policy *policy.Policy
		File   string // for people
	}

	// Halt: nothing starts any more until Resume. What was on its way to the server and
	// has not started is refused, and so is what comes.
	Halt struct {
		By     string // who says so, by a name that policies have
		Why    string // in their words; callers read it, less what the policy hides
		Cancel bool   // end what participants have the server do, too
	}

	// Resume: things start again, once that is on disk; Resumed says when.
	Resume struct{ By, Why string }

	// Checkpoint: the head of the audit is to be witnessed by the topic.
	Checkpoint struct {
		Seq  uint64
		Hash string
	}

	// Tick: the time that [Engine.Next] asked for has come.
	Tick struct{}

	// Stopping: admit nothing more; calls that have begun may finish.
	Stopping struct{}

	// GivingUp: the time for finishing is over.
	GivingUp struct{}

	// Leaving: what could not be said to the topic by now will not be.
	Leaving struct{}
)

func (Seated) event()        {}
func (Unseated) event()      {}
func (Arrived) event()       {}
func (Garbled) event()       {}
func (ServerUp) event()      {}
func (ServerSaid) event()    {}
func (ServerNoise) event()   {}
func (ServerDown) event()    {}
func (NotWritten) event()    {}
func (NotSent) event()       {}
func (Decided) event()       {}
func (Revoked) event()       {}
func (HostCalled) event()    {}
func (HostCancelled) event() {}
func (HostReplied) event()   {}
func (HostAnswered) event()  {}
func (HostLeft) event()      {}
func (Synced) event()        {}
func (Looked) event()        {}
func (Unrecorded) event()    {}
func (AuditUp) event()       {}
func (Reloaded) event()      {}
func (Saved) event()         {}
func (Halt) event()          {}
func (Resume) event()        {}
func (Checkpoint) event()    {}
func (Tick) event()          {}
func (Stopping) event()      {}
func (GivingUp) event()      {}
func (Leaving) event()       {}

// A Halted is who halted the bridge, why and since when.
type Halted struct {
	By    string // by a name that policies have
	Why   string // in their words; "" if they gave none
	Since time.Time
}

// halting is how the bridge is halted.
type halting struct {
	halted    *Halted // nil: it is not
	haltNoted uint64  // the ticket of the sync after the record of that; 0: it is on disk
	resuming  uint64  // the same of the record that it goes on; 0: there is none
	unsaid    bool    // that it is was not put on record in this run
}

// A Hello is what a server said of itself in the handshake. All byte fields
// are raw JSON, nil if absent.
type Hello struct {
	PID          int
	Revision     string // the MCP revision it speaks
	Modern       bool   // 2026-07-28: no initialize, every request carries Meta
	Result       []byte // its whole answer to initialize, or to server/discover
	ServerInfo   []byte
	Capabilities []byte
	Instructions []byte
	Elicits      bool   // the client it belongs to can ask its person something at any time; only if it is Hosted
	Meta         []byte // members of params._meta that each request needs; nil unless Modern
}

// An Effect is something that is to be done. The shell carries effects out in
// the order in which Step returns them.
type Effect interface{ effect() }

type (
	// Send puts a frame on its way to the topic.
	Send struct {
		Class    wire.Class
		Envelope *wire.Envelope // what Frame says
		Frame    []byte         // belongs to whoever carries out the effect

		// Result: a server's answer to a call, which leaves when the Note
		// before it is on record. If it cannot be put there, the frame does not
		// leave, and Unrecorded says so.
		Result bool
		Of     string // that call, as it is on record
	}

	// Write puts one line, without its newline, on its way to the server.
	Write struct {
		Call uint64 // our id of the request; 0 if the line is none
		Own  bool   // nobody else asked for it: no halt keeps it from leaving
		Ends uint64 // our id of the request that it ends; 0: it ends none. Of what never left the server is not told
		Line []byte // belongs to whoever carries out the effect
	}

	// TellHost lets the client that the server belongs to hear one line,
	// without its newline.
	TellHost struct{ Line []byte }

	// Restart ends the server and starts it again.
	Restart struct{ Why string }

	// Note puts an event before the owner: log, --json, audit. Nobody changes
	// the Record any more.
	Note struct{ Record *record.Record }

	// Serving says that the server's tools are known: from now on calls are
	// served. It comes once after each start of the server.
	Serving struct {
		Tools int
		PID   int
	}

	// Sync puts all records so far on disk and says so with Synced.
	Sync struct{ Ticket uint64 }

	// Look follows the links of paths, as this machine has them, and says with Looked which
	// of them stay in their folders. What takes long counts as if it could not be told.
	Look struct {
		Ticket uint64
		Places []plan.Place
	}

	// Told is what people at this machine may want to see: a question that is
	// put to anybody, or taken away from them, what somebody said to one, how one
	// ended. It is a Show, Close, ToSign, Noted or Settled.
	Told struct{ Act approval.Act }

	// Remember: a lasting yes is to be kept.
	Remember struct{ Grant approval.Grant }

	// Resumed answers each Resume: nil where the bridge is halted no more, else why it
	// still is.
	Resumed struct{ Err error }

	// Idle says, at the end of each Step after Stopping, that no call is left.
	Idle struct{}
)

func (Send) effect()     {}
func (Write) effect()    {}
func (TellHost) effect() {}
func (Restart) effect()  {}
func (Note) effect()     {}
func (Serving) effect()  {}
func (Look) effect()     {}
func (Sync) effect()     {}
func (Told) effect()     {}
func (Remember) effect() {}
func (Resumed) effect()  {}
func (Idle) effect()     {}

// initializeResult answers a participant's initialize: what the server said
// when we asked it, under the revision asked for if that is one of ours.
func (h Hello) initializeResult(m *jsonrpc.Message) []byte {
	revision := h.Revision
	if asked := requestedRevision(m); slices.Contains(jsonrpc.LegacyRevisions, asked) {
		revision = asked
	}
	if h.Modern {
		return h.asInitializeResult(revision)
	}
	shape := jsonrpc.Shape{{Name: "protocolVersion", Slot: 0}}
	var at [1]jsonrpc.Span
	if jsonrpc.Scan(h.Result, jsonrpc.Passed, shape, at[:]) != nil || at[0].End == 0 {
		return h.Result
	}
	result := append([]byte(nil), h.Result[:at[0].Start]...)
	result = jsonrpc.AppendQuote(result, revision)
	return append(result, h.Result[at[0].End:]...)
}

// asInitializeResult says in the words of the older revisions what a server
// of 2026-07-28 said of itself.
func (h Hello) asInitializeResult(revision string) []byte {
	if !slices.Contains(jsonrpc.LegacyRevisions, revision) {
		revision = jsonrpc.LegacyRevision
	}
	result := jsonrpc.AppendQuote([]byte(`{"protocolVersion":`), revision)
	for _, part := range []struct {
		name  string
		value []byte
		or    string
	}{
		{"capabilities", h.Capabilities, `{}`},
		{"serverInfo", h.ServerInfo, `{"name":"unknown","version":"0"}`},
		{"instructions", h.Instructions, ``},
	} {
		if part.value == nil && part.or == "" {
			continue
		}
		result = append(append(result, `,"`...), part.name...)
		result = append(append(result, `":`...), part.value...)
		if part.value == nil {
			result = append(result, part.or...)
		}
	}
	return append(result, '}')
}

// revisionMax bounds, in bytes, the params of an initialize that are read for the
// revision it asks for: all else in them is passed over.
const revisionMax = 64 << 10

// requestedRevision is what a client asks for, "" if it does not say or says it in more
// than anybody would.
func requestedRevision(m *jsonrpc.Message) string {
	params := m.Get(jsonrpc.Params)
	var at [1]jsonrpc.Span
	if len(params) > revisionMax || jsonrpc.Scan(params, jsonrpc.Judged, jsonrpc.Shape{{Name: "protocolVersion", Slot: 0}}, at[:]) != nil || at[0].End == 0 {
		return ""
	}
	revision, _ := jsonrpc.Unquote(params[at[0].Start:at[0].End])
	return revision
}
