// Package wire turns frames of a topic into envelopes and envelopes into
// frames. It does no I/O. The dialects differ in spelling alone, and the
// differences are data: see [Dialects]. Outside this package nobody asks
// which dialect is spoken.
//
// A frame is read strictly and once ([Dialect.Decode]); what can be read in two ways is an error,
// or noted in [Envelope.Wrong]. Payloads stay the bytes that came, and refer to the frame.
// What a dialect has no word for is [ErrInexpressible], and never left out.
package wire

import (
	"errors"
	"fmt"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Kind is what a frame is for, whatever its dialect calls it.
type Kind uint8

const (
	Unknown          Kind = iota // well formed, of a kind that means nothing to us
	Request                      // asks a participant to do something and to answer
	Response                     // answers one request
	Notification                 // tells, expects no answer
	Proposal                     // asks somebody else to make a request
	Withdraw                     // the proposer no longer wants it
	Reject                       // a participant will not serve a proposal
	Status                       // how it stands with a proposal; drafts of mcpx/v0.1 only
	ProposalResponse             // what a participant makes of a proposal that asked; drafts of mcpx/v0.1 only
	Greeting                     // gateway to joiner: who you are and who is here; read with Envelope.Welcome
	Presence                     // gateway to all: somebody came or left
	Chat                         // words to people
	Failure                      // gateway to sender: your frame was refused; read with Envelope.Fault
	Grant                        // capability/grant, capability/revoke
	Control                      // participant/* (pause, resume, shutdown, …)
	Stream                       // raw stream data of mew; never JSON
	kinds                        // how many there are
)

var kindNames = [kinds]string{"unknown", "request", "response", "notification", "proposal", "withdraw", "reject",
	"status", "proposal-response", "greeting", "presence", "chat", "failure", "grant", "control", "stream"}

func (k Kind) String() string {
	if k >= kinds {
		return "unknown"
	}
	return kindNames[k]
}

// An Envelope is one frame, read. Its byte fields refer to the frame, which
// nobody may change while the Envelope lives; its strings are copies and may
// be kept.
type Envelope struct {
	ID      string
	TS      string // the sender's clock; never used for a decision
	From    string
	To      []string // nil: everybody
	Corr    []string // what this answers
	Context []byte   // raw; mew only
	Kind    Kind
	Spelled string // the kind as written in the frame

	Method  string          // requests, notifications, proposals; on responses only what the kind says
	Key     string          // tool name, resource URI or prompt name that goes with Method
	Payload []byte          // raw; of a chat always {text, format?}, also where the dialect wraps it
	Message jsonrpc.Message // Payload scanned, if the kind carries MCP

	Style Style // how what concerns a proposal is to be spelled; nothing read has one

	// Edits are made to Message while it is written as the payload, in place
	// of Payload, which saves a copy of what may be large. nil: Payload.
	Edits []jsonrpc.Edit

	// Wrong says why parameters cannot be judged that others read in two ways.
	// It is set in what [Refused] Asked holds, and for a gateway by Accept.
	Wrong error

	// Loose says that the payload is a response which keeps only the rules
	// for what is passed on (jsonrpc.Passed): it may be deeper than 64 or
	// hold a duplicate key below its top level. Whoever judges something
	// inside it must scan that part again.
	Loose bool
}

// The reasons for which this package refuses a frame, beside those of
// jsonrpc.Reason. Logs, events and the audit show them as they are.
const (
	EnvelopeInvalid      = "envelope_invalid"        // a member is missing or of the wrong type
	IDCharset            = "id_charset"              // an id outside its grammar
	DialectMismatch      = "dialect_mismatch"        // another protocol or kind grammar than the session's
	KindPayloadMismatch  = "kind_payload_mismatch"   // the kind says one thing, the payload another
	CallAsNotification   = "call_as_notification"    // tools/call without an id
	RPCInvalidID         = "rpc_invalid_id"          // null, a container, or over 256 bytes
	FromReserved         = "from_reserved"           // a participant that calls itself the gateway
	SystemNotFromGateway = "system_not_from_gateway" // a participant that speaks for the gateway
	AmbiguousReference   = "ambiguous_reference"     // two members name different proposals
)

// A Refused says why a frame is dropped. ID, From and Kind are set as far as they
// could be read and must not be trusted.
type Refused struct {
	Reason string // one of the constants above or a jsonrpc.Reason
	Detail string
	ID     string
	From   string
	Kind   string // what the frame is called, where the dialect does not know that word; else ""

	// Asked is the frame itself if it is a request or a proposal with nothing
	// wrong but that a lenient reader takes two keys in it for one, below the
	// message (FINDINGS H1): whoever it is for says so, and a gateway, which
	// looks into no payload, passes it on. nil otherwise.
	Asked *Envelope
}

func (r *Refused) Error() string {
	if r.Detail == "" {
		return "frame refused: " + r.Reason
	}
	return "frame refused: " + r.Reason + ": " + r.Detail
}

// A Participant is somebody in a topic.
type Participant struct {
	ID   string
	Name string
	Role string // human, agent or robot, where the dialect says it
	Caps Caps
}

// A Welcome is what the gateway tells a joiner. It may come again in the mew
// dialects, with more capabilities; it is never a new session then.
type Welcome struct {
	You   Participant
	Peers []Participant
}

// A Fault is the gateway's word about a frame of ours.
type Fault struct {
	Code          string // capability_violation, auth_violation, VALIDATION_ERROR, …; "" in a bare notice
	Message       string
	AttemptedKind string   // the kind that was refused, where the gateway says it
	Caps          Caps     // what the gateway says we may send; zero if it does not say
	Trigger       []string // ids of the frames refused; most gateways never say
}

// A Join is what a participant says first to a gateway that waits for it
// (WIRE 5.3). Token is a secret.
type Join struct {
	ID       string
	Space    string
	Token    string
	Protocol string // "" if the joiner leaves the choice to the gateway
}

// A CloseError is the end of a connection to a gateway as the gateway gave it.
type CloseError struct {
	Code   int // WebSocket close code, or the HTTP status of a refused upgrade
	Reason string
}

func (e *CloseError) Error() string {
	what := "closed the connection ("
	if e.Code < 1000 { // it opened none
		what = "refused the connection ("
	}
	if e.Reason == "" {
		return fmt.Sprintf("the gateway %s%d)", what, e.Code)
	}
	return fmt.Sprintf("the gateway %s%d): %s", what, e.Code, e.Reason)
}

var (
	// ErrNotPermitted: what we may send permits no spelling of this frame.
	ErrNotPermitted = errors.New("the capabilities we were given permit no spelling of this frame")

	// ErrInexpressible: the dialect has no word for this frame, or the frame
	// lacks what the word is made of, as a response of mcpx/v0.1 its method.
	ErrInexpressible = errors.New("this dialect cannot say this")
)
