package engine

import (
	"github.com/go-json-experiment/json"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// StandingMethod is how a participant asks what our rules say of its own calls, before it makes
// any: {"tools":[NAME…]}, answered with {"standing":{NAME:VERDICT…}}. A VERDICT is allow, ask,
// deny, or depends, where arguments or limits decide. Of tools that we do not have nothing is
// said, nor of those beyond what one request may cost: for these it asks again. No member of a
// tool in tools/list could say it, whose bytes are the server's.
const StandingMethod = "mcpx/standing"

// The bounds of one such request: bytes of its params, and patterns that are tried.
const (
	standingBytes = 64 << 10
	standingWork  = 50_000
)

// standings answers a request for what is said of a caller's calls.
func (e *Engine) standings(env *wire.Envelope) []byte {
	var asked struct {
		Tools []string `json:"tools"`
	}
	out, said := []byte(`{"standing":{`), map[string]bool{}
	params := env.Message.Get(jsonrpc.Params)
	if len(params) > standingBytes || json.Unmarshal(params, &asked) != nil {
		return append(out, "}}"...)
	}
	each, work := e.policy.Size()+1, 0
	for _, name := range asked.Tools {
		if e.server.tools.Tools[name] == nil || said[name] {
			continue
		}
		if work += each; work > standingWork && len(said) > 0 {
			break
		}
		if len(said) > 0 {
			out = append(out, ',')
		}
		said[name] = true
		out = jsonrpc.AppendQuote(append(jsonrpc.AppendQuote(out, name), ':'), e.standing(env.From, name))
	}
	return append(out, "}}"...)
}

// standing is what is said of calls of a tool that there is.
func (e *Engine) standing(from, name string) string {
	v, depends := e.policy.Standing(e.described(from, "request", "tools/call", name, nil, nil))
	if t := e.server.tools.Tools[name]; t.First != t.Print {
		v = e.policy.Pinned(policy.Decision{Verdict: v}).Verdict
		depends = depends && v != policy.Deny
	}
	if depends {
		return "depends"
	}
	return v.String()
}
