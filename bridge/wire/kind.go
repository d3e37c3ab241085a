package wire

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// maxKind is the longest kind that is read or written, in bytes. A resource
// URI that does not fit is left out of the kind.
const maxKind = 4096

// splitKind splits a kind into what it starts with and METHOD[:CONTEXT]. The
// drafts of mcpx/v0.1 write dots: mcp.request.tools/call (WIRE 4.1).
func splitKind(kind string) (head, rest string) {
	for _, op := range []string{"mcp.request.", "mcp.response.", "mcp.proposal."} {
		if rest, ok := strings.CutPrefix(kind, op); ok {
			return op[:len(op)-1], rest
		}
	}
	head, rest, _ = strings.Cut(kind, ":")
	return head, rest
}

// A reference is what a kind says of the message it carries.
type reference struct {
	kind        Kind
	method, key string
}

// read tells what a kind means. ok is false if it belongs to another grammar,
// so that the rules of a looser dialect cannot be had by asking for them.
func (g *grammar) read(kind string) (ref reference, ok bool) {
	if k := g.reads[kind]; k != Unknown {
		return reference{kind: k}, !g.methodInKind || !k.namesMethod() || k == Proposal
	}
	if head, rest := splitKind(kind); g.methodInKind && rest != "" {
		if k := g.reads[head]; k.namesMethod() {
			method, key, _ := strings.Cut(rest, ":")
			return reference{k, method, key}, true
		}
	}
	for k, word := range g.words {
		if strings.HasSuffix(word, "/") && strings.HasPrefix(kind, word) {
			return reference{kind: Kind(k)}, true
		}
	}
	return reference{}, !foreign(kind)
}

// foreign reports whether a kind that a grammar does not know is one that
// another grammar acts on.
func foreign(kind string) bool {
	head, rest := splitKind(kind)
	if rest != "" {
		return mcpx1.reads[head].namesMethod()
	}
	return mcpx0.reads[kind] != Unknown || mew.reads[kind].namesMethod()
}

// namesMethod reports whether a kind carries a JSON-RPC message whose method
// mcpx/v0.1 names in the kind.
func (k Kind) namesMethod() bool {
	return k == Request || k == Response || k == Notification || k == Proposal
}

// refers reports whether a kind says something of a proposal that it names.
func (k Kind) refers() bool {
	return k == Withdraw || k == Reject || k == Status || k == ProposalResponse
}

// fromGateway reports whether frames of a kind come from the gateway alone.
func (k Kind) fromGateway() bool { return k == Greeting || k == Failure || k == Presence }

// gatewayToo reports whether the gateway may send a kind besides others.
func gatewayToo(kind string) bool {
	return strings.HasPrefix(kind, "stream/") || strings.HasPrefix(kind, "space/")
}

// keyed says which parameter of a method names what it is about (WIRE 3.2).
var keyed = map[string]jsonrpc.Field{
	"tools/call":                      jsonrpc.Name,
	"prompts/get":                     jsonrpc.Name,
	"resources/read":                  jsonrpc.URI,
	"resources/subscribe":             jsonrpc.URI,
	"resources/unsubscribe":           jsonrpc.URI,
	"notifications/resources/updated": jsonrpc.URI,
}

// proposable reports whether a kind may name a method of a proposal. What has
// no slash is a suffix of drafts that were given up, as in mcp/proposal:ack
// (WIRE C19).
func proposable(method string) bool {
	return strings.Contains(method, "/") || method == "ping" || method == "initialize"
}

const chatMethod = "notifications/chat/message"
