package sim

import (
	"fmt"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// ask proposes a call in the dialect that has no proposals.
func (p *person) ask() {
	s := said{id: p.fresh("q"), from: p.id, to: []string{us}, kind: wire.Request, perfect: true, asks: true, rpc: fmt.Append(nil, p.serial)}
	p.pickTool(&s)
	p.make(s)
}

// spellProposal writes a proposal as the dialect has it, or as a draft of it had.
func (p *person) spellProposal(d dice, s said, payload []byte) *frame {
	if p.w.o.Protocol != "mcpx/v0.1" || d.chance(.6) {
		return p.w.topic.spell(s, payload)
	}
	return p.w.topic.draft(s, pick(d, "mcp.proposal.tools/call", "mcp.proposal", "proposal", "proposal"), "", payload)
}

// withdraw takes a proposal back, in any of the ways in which that was ever said.
func (p *person) withdraw(d dice, id string) {
	if !p.here() {
		return
	}
	p.w.topic.send(p.spellWithdrawal(d, id))
}

func (p *person) spellWithdrawal(d dice, id string) *frame {
	s := said{id: p.word("w"), from: p.id, to: []string{us}, kind: wire.Withdraw, corr: []string{id}}
	payload, link := []byte(`{"reason":"no_longer_needed"}`), fmt.Sprintf(`"correlationId":"%s",`, id)
	n := d.IntN(8)
	if p.w.o.Protocol != "mcpx/v0.1" {
		n = 0
	}
	switch n {
	case 1:
		return p.w.topic.draft(s, "mcpx.withdraw.proposal", link, payload)
	case 2:
		return p.w.topic.draft(s, "mcp.withdraw.proposal", link, payload)
	case 3:
		return p.w.topic.draft(s, "proposal/withdraw", "", fmt.Appendf(nil, `{"proposalId":"%s"}`, id))
	case 4:
		return p.w.topic.draft(s, "proposal/status", "", fmt.Appendf(nil, `{"proposalId":"%s","status":"withdrawn"}`, id))
	case 5:
		return p.w.topic.draft(s, "mcp", "", fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%s"}}`, id))
	}
	return p.w.topic.spell(s, payload)
}

// reject says that this participant will not serve a proposal.
func (p *person) reject(d dice, of said) {
	if !p.here() {
		return
	}
	s := said{id: p.word("x"), from: p.id, kind: wire.Reject, corr: []string{of.id}}
	switch n := d.IntN(6); {
	case p.w.o.Protocol != "mcpx/v0.1" || n > 1:
		p.w.topic.say(s, []byte(`{"reason":"gone_fishing"}`))
	case n == 0:
		p.w.topic.send(p.w.topic.draft(s, "mcpx.reject.proposal", fmt.Sprintf(`"correlationId":"%s",`, of.id), []byte(`{"reason":"busy"}`)))
	default:
		p.w.topic.send(p.w.topic.draft(s, "proposal-reject", "", fmt.Appendf(nil, `{"proposal_id":"%s","reason":"busy"}`, of.id)))
	}
}

// takeUp requests what was proposed.
func (p *person) takeUp(of said) {
	if !p.here() {
		return
	}
	s := of.requested(p.fresh("t"), p.id, us)
	s.rpc = fmt.Append(nil, p.serial)
	p.make(s)
}
