package engine

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// methods are those of MCP that a server may be asked for, as they are folded.
var methods = func() map[string]string {
	all := map[string]string{}
	for _, method := range []string{"initialize", "ping", "server/discover", "tools/list", "tools/call", "tools/request",
		"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
		"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "subscriptions/listen",
		"tasks/list", "tasks/get", "tasks/result", "tasks/cancel", "tasks/update",
		"sampling/createMessage", "elicitation/create", "roots/list"} {
		all[fold.Method(method)] = method
	}
	return all
}()

// resemblesMethod reports whether a method is not one of MCP's, but is to a careless
// server: rules that name the one would say nothing of the other.
func resemblesMethod(method string) bool {
	meant := methods[fold.Method(method)]
	return meant != "" && meant != method
}

// clash says what a participant's _meta holds that is one, to a lenient server, with
// something that the server's revision has us put beside it.
func (h *Hello) clash(meta []byte) error {
	if !h.Modern || len(meta) < 3 || meta[0] != '{' {
		return nil
	}
	beside := h.metaBeside(meta)
	if len(beside) == 0 {
		return nil
	}
	both := slices.Concat([]byte("{"), beside, []byte(","), meta[1:])
	if err := jsonrpc.Scan(both, jsonrpc.Called, nil, nil); jsonrpc.Is(err, jsonrpc.KeysAlike) {
		return err
	}
	return nil
}
