package desktop

import "github.com/mcpx-protocol/mcpx-bridge/bridge/approval"

// An Event is something that happened. Byte fields belong to the Proxy from then
// on.
type Event interface{ event() }

type (
	// Line is a line from the client, without its end.
	Line struct{ Text []byte }

	// Overlong is a line from the client that was over the limit, or its head.
	Overlong struct{ Head []byte }

	// Seated: we have a seat, as Me, among Peers. It may come again without an
	// Unseated in between.
	Seated struct {
		Me, Topic string
		Peers     []Peer
		Greet     bool // a peer must be initialized before it is asked for anything else
	}

	// Unseated: the seat is lost; another is sought.
	Unseated struct{ Why string }

	// Came: a peer is here, maybe again, and what it may do may be another thing.
	Came struct{ Peer Peer }

	// Left: a peer is gone. What it has is shown for a while yet.
	Left struct{ ID string }

	// Answered is the answer to an Ask: one of Result and Err, raw, or else
	// Failed, why there will be none. Unsent says that the Ask never left.
	Answered struct {
		Ref         uint64
		Result, Err []byte
		Failed      string
		Unsent      bool
	}

	// Progressed carries the parameters of a progress notification about an Ask.
	Progressed struct {
		Ref    uint64
		Params []byte
	}

	// Noticed is any other notification of a peer's.
	Noticed struct{ From, Method string }

	// Asked: somebody puts a question to us.
	Asked struct{ Question Question }

	// Settled: a question is none any more, be it because we answered.
	Settled struct{ ID string }

	// Decided: what came of a Decide. The zero one but for its ID says that the answer has left.
	Decided struct {
		ID     string
		Gone   bool   // the question had ended, and the answer counts for nothing
		Others bool   // it was a yes, and others must agree too
		Unsent string // why it could not be sent; the question is one still
	}

	// Hangup: the client is gone, and fetches nothing any more.
	Hangup struct{}

	// Due: Next has come.
	Due struct{}
)

func (Line) event()       {}
func (Overlong) event()   {}
func (Seated) event()     {}
func (Unseated) event()   {}
func (Came) event()       {}
func (Left) event()       {}
func (Answered) event()   {}
func (Progressed) event() {}
func (Noticed) event()    {}
func (Asked) event()      {}
func (Settled) event()    {}
func (Decided) event()    {}
func (Hangup) event()     {}
func (Due) event()        {}

// A Peer is another participant.
type Peer struct {
	ID   string
	Mute bool // it may not answer, so it is not asked
}

// A Question is one that wants leave for somebody's call, from this
// participant. Its texts have been made fit to be shown.
type Question struct {
	ID                         string
	Digest, Bridge, From, Tool string
	approval.Dialog
}

// QuestionOf is a question as it was put to this participant, whose View has an id by now. It can
// be passed on to delegates.
func QuestionOf(q *approval.Elicited, topic string, delegates []string) Question {
	v := &q.View
	return Question{ID: v.ID, Digest: v.Short, Bridge: v.Bridge, From: v.From, Tool: v.Tool, Dialog: q.Dialog(topic, delegates)}
}

// An Act is something to be done.
type Act interface{ act() }

type (
	// WriteClient is a line for the client.
	WriteClient struct {
		Line  []byte
		Spare bool // it may be left out if the client does not keep up
	}

	// Ask is a request to a peer. It must be followed by exactly one Answered,
	// unless it is cancelled.
	Ask struct {
		Ref      uint64
		To       string
		Method   string
		Params   []byte // raw, nil for none
		Progress bool   // tell of its progress
	}

	// Cancel takes an Ask back.
	Cancel struct {
		Ref uint64
		Why string
	}

	// Tell is a notification to a peer.
	Tell struct {
		To, Method string
	}

	// Decide answers a question put to us. The zero Reply is a no. It must be followed by
	// exactly one Decided.
	Decide struct {
		ID    string
		Reply approval.Reply
	}

	// Note is something the owner may want to know, and which peer has brought it
	// about, "" if none has.
	Note struct{ Text, By string }

	// Ready: we have a seat, and all who were there have been heard, or had
	// their time. It comes once.
	Ready struct{ Tools int }
)

func (WriteClient) act() {}
func (Ask) act()         {}
func (Cancel) act()      {}
func (Tell) act()        {}
func (Decide) act()      {}
func (Note) act()        {}
func (Ready) act()       {}
