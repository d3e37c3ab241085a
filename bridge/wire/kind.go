package wire

import (
	"slices"
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

// gatewayOnly reports whether only the gateway may send a kind, known or not.
func gatewayOnly(kind string) bool {
	return kind == "presence" || kind == "system" || strings.HasPrefix(kind, "system/") || strings.HasPrefix(kind, "system.")
}

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

// spell appends a kind as a JSON string: the longest of its spellings that
// caps permit (WIRE W-4).
func (g *grammar) spell(dst []byte, e *Envelope, caps Caps) ([]byte, error) {
	word := g.words[e.Kind]
	switch {
	case word == "" || e.Kind.fromGateway():
		return dst, ErrInexpressible
	case g.looseRPC && e.Kind == Notification && !strings.HasPrefix(e.Method, "notifications/"):
		return dst, ErrInexpressible // it would be read as a request
	case strings.HasSuffix(word, "/"):
		if len(e.Spelled) > maxKind || !strings.HasPrefix(e.Spelled, word) {
			return dst, ErrInexpressible
		}
		word = e.Spelled
	}
	if g.caps == capsUnsaid {
		return jsonrpc.AppendQuote(dst, word), nil
	}
	if !g.methodInKind || !e.Kind.namesMethod() {
		if !caps.Predicts(word) {
			return dst, ErrNotPermitted
		}
		return jsonrpc.AppendQuote(dst, word), nil
	}
	return spellMethod(dst, word+":", e, caps)
}

// spellMethod appends a kind that begins with word and goes on with its method, and with its key if
// that is permitted and not too long.
func spellMethod(dst []byte, word string, e *Envelope, caps Caps) ([]byte, error) {
	if e.Method == "" || strings.Contains(e.Method, ":") || len(e.Method) > maxMethod || e.Kind == Proposal && !proposable(e.Method) {
		return dst, ErrInexpressible
	}
	var room [256]byte
	kind := append(append(room[:0], word...), e.Method...)
	if short := len(kind); e.Key != "" && (e.Kind == Response || keyed[e.Method] != 0) && short+1+len(e.Key) <= maxKind {
		kind = append(append(kind, ':'), e.Key...)
		if !caps.predicts(kind) {
			kind = kind[:short]
		}
	}
	if !caps.predicts(kind) {
		return dst, ErrNotPermitted
	}
	return appendQuoted(dst, kind), nil
}

// appendQuoted is [jsonrpc.AppendQuote] without a copy for plain ASCII.
func appendQuoted(dst, s []byte) []byte {
	special := func(c byte) bool { return c < ' ' || c >= 0x7f || c == '"' || c == '\\' }
	if slices.ContainsFunc(s, special) {
		return jsonrpc.AppendQuote(dst, string(s))
	}
	return append(append(append(dst, '"'), s...), '"')
}
