package desktop

import (
	"cmp"
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// newProtocol returns what answers MCP's own words. Only its HandleMessage is used, which
// has no goroutine and no session: whoever steps the Proxy is answered at once.
func newProtocol(version string) *server.MCPServer {
	return server.NewMCPServer(ourName, version, server.WithTitle(ourTitle), server.WithInstructions(instructions),
		server.WithToolCapabilities(true), server.WithResourceCapabilities(false, true), server.WithPromptCapabilities(true),
		server.WithCacheHints(0, mcp.CacheScopePrivate))
}

// speak answers a request of MCP's own by what the library says to these params. They are
// of our making, and so is the id: a large one would be rounded.
func (f *Proxy) speak(r *request, params any) {
	switch a := f.protocol.HandleMessage(context.WithValue(speaks, asker{}, r), jsonrpc.AppendRequest(nil, []byte("1"), r.method, compose(params))).(type) {
	case mcp.JSONRPCResponse:
		if d, ok := a.Result.(mcp.DiscoverResult); ok {
			d.Meta = nil // who we are is said of each result at one place
			a.Result = d
		}
		f.reply(r, plain(a.Result))
	case mcp.JSONRPCError:
		if r.own == "" { // for a tool of ours this is errElsewhere
			f.refuse(r, a.Error.Code, a.Error.Message, nil)
		}
	}
}

// speaks has the library offer no revision that it knows and we do not.
var speaks = server.WithSupportedProtocolVersions(context.Background(), revisions)

func (f *Proxy) initialize(r *request) {
	at, err := pick(r.params, "protocolVersion", "capabilities")
	if err != nil {
		f.refuse(r, codeInvalidParams, err.Error(), nil)
		return
	}
	ui := showsApps(at[1])
	f.client = client{elicits: elicits(at[1]), apps: ui != nil}
	f.showing(ui)
	revision, _ := jsonrpc.Unquote(at[0])
	f.speak(r, mcp.InitializeParams{ProtocolVersion: cmp.Or(revision, revisions[1])})
}

func (f *Proxy) discover(r *request) {
	r.modern = true // whoever asks, for there was no such request before
	meta := &mcp.Meta{}
	meta.SetProtocolVersion(modern)
	meta.SetClientCapabilities(mcp.ClientCapabilities{})
	f.speak(r, mcp.DiscoverParams{Meta: meta})
}

// elicits reads from a client's capabilities whether it puts forms to its
// person.
func elicits(capabilities []byte) bool {
	if !isObject(capabilities) {
		return false
	}
	at, err := pick(capabilities, "elicitation")
	if err != nil || !isObject(at[0]) {
		return false
	}
	modes, err := pick(at[0], "form", "url")
	return err == nil && (modes[0] != nil || modes[1] == nil)
}
