package engine

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// asksForTool turns a request for tools/request, {name, arguments}, into the
// call it proposes, if the owner takes such and proposals are served at all; asks
// is set then, and the rules for proposals hold. Everything else comes back as it
// is, also what is longer than people are asked about, and tools/request then is a
// method nobody knows (WIRE O90). Which dialect we speak does not matter: at a gateway
// that translates, who asks may speak another, that has no proposals (FINDINGS D10).
// What becomes of it is said as of any request, as the dialect has no other words.
func (e *Engine) asksForTool(env *wire.Envelope) (call *wire.Envelope, asks bool) {
	if env.Method != "tools/request" || !e.offers.toolsRequest || e.policy.Proposals.Fulfil == "never" || len(env.Message.Raw) > approval.MaxAsked {
		return env, false
	}
	raw := env.Message.Append(nil, jsonrpc.Edit{Field: jsonrpc.Method, Value: []byte(`"tools/call"`)})
	m, err := jsonrpc.Parse(raw, jsonrpc.Called)
	if err != nil {
		return env, false
	}
	out := *env
	out.Method, out.Key, out.Payload, out.Message = "tools/call", m.Text(jsonrpc.Name), raw, m
	return &out, true
}
