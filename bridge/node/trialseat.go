package node

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Doubts are warnings about a seat that a gateway of this dialect would give us.
func (t *Trial) Doubts(you wire.Participant, d wire.Dialect) (all []string) {
	if warning, hint := t.p.unverifiedIn(d); warning != "" {
		all = append(all, warning+"; "+hint)
	}
	if t.Rules().AsksOthers() && engine.MayAsk(you) && !permitsQuestions(you.Caps) {
		all = append(all, "what the gateway lets "+you.ID+" send has limits, and questions to approvers seem to be beyond them: they may never arrive")
	}
	return all
}

// permitsQuestions goes by the letter of what the gateway says, which a gateway may read with
// less care than ours.
func permitsQuestions(caps wire.Caps) bool {
	ask := []byte(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`)
	return caps.Allows("mcp/request:elicitation/create", ask) || caps.Allows("mcp/request", ask)
}

// Approvers says which of those who may be asked in a topic could be asked now, and what keeps
// the others from it; others are who is there. It is "" where the rules ask nobody there. The
// error is that nobody at all could be asked.
func (t *Trial) Approvers(others []wire.Participant, d wire.Dialect) (said string, doubts []string, err error) {
	asked := t.Rules().Deciders()
	abroad := slices.DeleteFunc(slices.Clone(asked), policy.IsDoor)
	if len(abroad) == 0 {
		return "", nil, nil
	}
	names := text.Series(abroad, 0)
	if warning, _ := t.p.unverifiedIn(d); warning != "" && !t.p.o.TrustUnverified {
		if len(abroad) == len(asked) {
			return "", nil, fault.New(fault.Failed, "let the rules ask local, which is you; or add --trust-unverified-from, if you trust everybody in the topic",
				"%s cannot be asked, because this gateway does not verify who speaks; nobody else may decide, so calls that need a yes would be refused", names)
		}
		return "those at this machine", []string{names + " will not be asked, because this gateway does not verify who speaks"}, nil
	}
	var here []string
	for _, name := range abroad {
		i := slices.IndexFunc(others, func(p wire.Participant) bool { return p.ID == name })
		switch {
		case i < 0:
			doubts = append(doubts, name+" may be asked, and is not in the topic now")
		case !engine.MayAnswer(others[i]):
			doubts = append(doubts, name+" may be asked, but the gateway does not let "+name+" send mcp/response, so no answer will come")
		default:
			here = append(here, name)
		}
	}
	if len(here) == 0 {
		return names + " cannot be asked now", doubts, nil
	}
	return text.Series(here, 0) + " can be asked", doubts, nil
}
