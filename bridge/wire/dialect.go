package wire

import (
	"strings"
)

// gaps are members of a frame that the gateways of a dialect put in for who left them out.
type gaps uint8

const (
	gapProtocol gaps = 1 << iota
	gapID
	gapTS
	gapFrom
	gapList // correlation_id is one string where the dialect has a list
)

// capsForm is how a dialect writes capabilities.
type capsForm uint8

const (
	capsOmitted capsForm = iota // not at all
	capsStrings                 // "mcp/request:tools/call:read_*"
	capsObjects                 // {"kind":"mcp/request","payload":{"method":"tools/call","params":{"name":"read_*"}}}
)

// A Dialect is one spelling of the protocol: a comparable value, and all there
// is to know about how its frames look. The zero Dialect speaks nothing.
type Dialect struct {
	Protocol string // as it stands in every frame
	*grammar
}

// Dialects are the dialects there are, oldest first.
var Dialects = []Dialect{
	{"mcp-x/v0", &mcpx0},
	{"mcpx/v0.1", &mcpx1},
	{"meup/v0.2", &mew},
	{"mew/v0.3", &mew},
	{"mew/v0.4", &mew},
}

// Protocols are the protocol strings of the dialects there are, oldest first.
func Protocols() []string {
	var all []string
	for _, d := range Dialects {
		all = append(all, d.Protocol)
	}
	return all
}

// A grammar is what dialects differ in.
type grammar struct {
	words [kinds]string   // how a kind is written; "" if it cannot be said; a word ending in / begins it
	reads map[string]Kind // every way a kind is read; the words are among them

	drafts       bool // what concerns a proposal has several spellings (WIRE 4)
	methodInKind bool // kinds that carry MCP go on with :METHOD[:CONTEXT] (WIRE 3.2)
	byPayload    bool // what an mcp or system frame is, only its payload says (WIRE 2.2)
	manyLinks    bool // correlation_id is a list
	looseRPC     bool // requests may lack jsonrpc and id (WIRE W-6)
	context      bool // envelopes have a context
	streams      bool // frames may be raw stream data: #STREAM#DATA
	handshake    bool // callers initialize a peer before they ask it for anything (WIRE 2.6)
	verified     bool // gateways make sure who a frame is from (WIRE 1.2)
	mustLink     bool // an answer that names no envelope is none (WIRE 3.6, 5.8)
	openRequests bool // a request that serves a proposal may lack its addressee (WIRE W-9)
	joins        bool // who connects speaks first (WIRE 5.3)
	echoes       bool // gateways return what a participant says to it as well (WIRE 1.2)
	tellsBoth    bool // what serves a proposal is answered to its proposer as well (WIRE 3.2)

	caps  capsForm // how capabilities are written
	fills gaps     // what gateways put in for who left it out
}

var mcpx0 = grammar{
	words: [kinds]string{
		Request:      "mcp",
		Response:     "mcp",
		Notification: "mcp",
		Chat:         "mcp",
		Greeting:     "system",
		Failure:      "system",
		Presence:     "presence",
	},
	reads:     map[string]Kind{"mcp": Request, "system": Greeting, "presence": Presence},
	byPayload: true,
	handshake: true,
	verified:  true,
	caps:      capsOmitted,
	fills:     gapProtocol,
}

var mcpx1 = grammar{
	words: [kinds]string{
		Request:      "mcp/request",
		Response:     "mcp/response",
		Notification: "mcp/request",
		Proposal:     "mcp/proposal",
		Withdraw:     "mcp/withdraw",
		Reject:       "mcp/reject",
		Status:       "mcpx.status.proposal",
		Chat:         "chat",
		Greeting:     "system/welcome",
		Failure:      "system/error",
		Presence:     "system/presence",

		ProposalResponse: "proposal-response",
	},
	reads: map[string]Kind{
		"mcp/request": Request, "mcp.request": Request,
		"mcp/response": Response, "mcp.response": Response,
		"mcp/proposal": Proposal, "mcp.proposal": Proposal, "proposal": Proposal,
		"mcp/withdraw": Withdraw, "mcp.withdraw": Withdraw, "mcp.withdraw.proposal": Withdraw, "mcpx.withdraw.proposal": Withdraw,
		"mcpx/withdraw:proposal": Withdraw, "proposal/withdraw": Withdraw,
		"mcp/reject": Reject, "mcp.reject": Reject, "mcp.reject.proposal": Reject, "mcpx.reject.proposal": Reject,
		"mcpx/reject:proposal": Reject, "proposal-reject": Reject,
		"mcpx.status.proposal": Status, "proposal/status": Status, "proposal-response": ProposalResponse,
		"chat": Chat, "chat.message": Chat,
		"system/welcome": Greeting, "system.welcome": Greeting,
		"system/error": Failure, "system.error": Failure,
		"system/presence": Presence, "system.presence": Presence, "presence": Presence,
	},
	drafts:       true,
	methodInKind: true,
	handshake:    true,
	verified:     true,
	mustLink:     true,
	tellsBoth:    true,
	caps:         capsStrings,
	fills:        gapProtocol,
}

var mew = grammar{
	words: [kinds]string{
		Request:      "mcp/request",
		Response:     "mcp/response",
		Notification: "mcp/request",
		Proposal:     "mcp/proposal",
		Withdraw:     "mcp/withdraw",
		Reject:       "mcp/reject",
		Chat:         "chat",
		Greeting:     "system/welcome",
		Failure:      "system/error",
		Presence:     "system/presence",
		Grant:        "capability/",
		Control:      "participant/",
	},
	reads: map[string]Kind{
		"mcp/request": Request, "mcp.request": Request,
		"mcp/response": Response, "mcp.response": Response,
		"mcp/proposal": Proposal, "mcp.proposal": Proposal,
		"mcp/withdraw": Withdraw, "mcp.withdraw": Withdraw,
		"mcp/reject": Reject, "mcp.reject": Reject,
		"chat":           Chat,
		"system/welcome": Greeting, "system.welcome": Greeting,
		"system/error": Failure, "system.error": Failure,
		"system/presence": Presence, "system.presence": Presence,
	},
	manyLinks: true,
	mustLink:  true,
	looseRPC:  true,
	context:   true,
	streams:   true,
	caps:      capsObjects,
	fills:     gapProtocol | gapID | gapTS | gapFrom | gapList,

	openRequests: true,
	joins:        true,
	echoes:       true,
}

// Lookup returns the dialect with a protocol string. Later versions of the mew
// dialects, 0.x, are taken for what their frames are called (WIRE W-1).
func Lookup(protocol string) (Dialect, bool) {
	for _, d := range Dialects {
		if d.Protocol == protocol {
			return d, true
		}
	}
	_, version, _ := strings.Cut(protocol, "/v0.")
	if (strings.HasPrefix(protocol, "mew/v0.") || strings.HasPrefix(protocol, "meup/v0.")) && digits(version) {
		return Dialect{protocol, &mew}, true
	}
	return Dialect{}, false
}

// Alike reports whether frames of one dialect are read in the other as they
// are. The mew dialects differ in their protocol string alone.
func (d Dialect) Alike(other Dialect) bool {
	return d == other || d.grammar != nil && d.grammar == other.grammar
}

// Handshake reports whether a caller must initialize a peer before it asks for
// anything (WIRE 2.6). Where that is not so many peers do not answer it (5.5).
func (d Dialect) Handshake() bool { return d.grammar != nil && d.handshake }

// Verified reports whether gateways that speak d make sure who a frame is from.
// Where they do not, anybody can answer in somebody else's name (WIRE 7.2).
func (d Dialect) Verified() bool { return d.grammar != nil && d.verified }

// MustLink reports whether an answer that does not name the envelope it answers
// is none. In the oldest dialect its JSON-RPC id will do (seed 003).
func (d Dialect) MustLink() bool { return d.grammar != nil && d.mustLink }

// OpenRequests reports whether a request that names a proposal is made to whom
// the proposal is addressed, where it names nobody itself (WIRE W-9).
func (d Dialect) OpenRequests() bool { return d.grammar != nil && d.openRequests }

// Joins reports whether a participant says who it is before the gateway says anything,
// as nearly all gateways of mew expect.
func (d Dialect) Joins() bool { return d.grammar != nil && d.joins }

// TellsHistory reports whether its welcome has a place for what was said before.
func (d Dialect) TellsHistory() bool { return d.grammar != nil && d.byPayload }

// Echoes reports whether participants count on hearing what they said themselves, as the
// clients of mew do, whose gateways return it.
func (d Dialect) Echoes() bool { return d.grammar != nil && d.echoes }

// TellsBoth reports whether the answer to a request that serves a proposal goes
// to the proposer as well as to whoever made the request (WIRE 3.2). Elsewhere
// the proposer sees it anyway.
func (d Dialect) TellsBoth() bool { return d.grammar != nil && d.tellsBoth }

func digits(s string) bool {
	return s != "" && len(s) <= 4 && strings.Trim(s, "0123456789") == ""
}
