package engine

import (
	"github.com/go-json-experiment/json"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// StandingMethod is how a participant asks what our rules say of its own calls, before it makes
// any: {"tools":[NAME…]}, answered with {"standing":{NAME:VERDICT…},"otherwise":{NAME:VERDICT…}}.
// A VERDICT is allow, ask, deny, or depends, where arguments or limits decide. Where they decide
// no more than that some calls are denied, otherwise has the verdict of all others. Of tools that
// we do not have nothing is said, nor of those beyond what one request may cost: for these it asks
// again. No member of a tool in tools/list could say it, whose bytes are the server's.
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
	var standing, otherwise verdicts
	params := env.Message.Get(jsonrpc.Params)
	if len(params) > standingBytes || json.Unmarshal(params, &asked) != nil {
		asked.Tools = nil
	}
	each, work, said := e.policy.Size()+1, 0, map[string]bool{}
	for _, name := range asked.Tools {
		if e.server.tools.Tools[name] == nil || said[name] {
			continue
		}
		if work += each; work > standingWork && len(said) > 0 {
			break
		}
		said[name] = true
		s := e.standing(env.From, name)
		if s.Sure() {
			standing.add(name, s.Verdict.String())
			continue
		}
		standing.add(name, "depends")
		if !s.Depends {
			otherwise.add(name, s.Verdict.String())
		}
	}
	out := append([]byte(`{"standing":{`), standing...)
	if len(otherwise) > 0 {
		out = append(append(out, `},"otherwise":{`...), otherwise...)
	}
	return append(out, "}}"...)
}

// verdicts are members of an object, by name of tool.
type verdicts []byte

func (v *verdicts) add(name, verdict string) {
	if len(*v) > 0 {
		*v = append(*v, ',')
	}
	*v = jsonrpc.AppendQuote(append(jsonrpc.AppendQuote(*v, name), ':'), verdict)
}

// standing is what is said of calls of a tool that there is.
func (e *Engine) standing(from, name string) policy.Standing {
	s := e.policy.Standing(e.described(from, "request", "tools/call", name, nil, nil, ""))
	if e.server.tools.Tools[name].Changed() {
		s.Verdict = e.policy.Pinned(policy.Decision{Verdict: s.Verdict}).Verdict
		if s.Verdict == policy.Deny {
			s = policy.Standing{Verdict: policy.Deny}
		}
	}
	return s
}
