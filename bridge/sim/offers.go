package sim

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// offers plans what is proposed, and not requested, in a world that has that.
func (w *company) offers() {
	if !w.o.Offers {
		return
	}
	d := newDice(w.o.Seed, "offers")
	for _, p := range w.callers() {
		for range 2 + d.IntN(3) {
			w.after(d.between(3*time.Second, w.o.Span), func() { p.propose(d) })
		}
	}
}

// propose asks for a call without making it.
func (p *person) propose(d dice) {
	switch {
	case !p.here():
		return
	case p.w.o.Protocol == "mcp-x/v0":
		p.ask()
		return
	}
	s := said{id: p.fresh("p"), from: p.id, kind: wire.Proposal, perfect: true, to: pick(d, []string{us}, []string{us}, nil)}
	p.pickTool(&s)
	if d.chance(.3) {
		s.ttl = d.between(time.Second, 40*time.Second)
	}
	hints := ""
	if d.chance(.5) {
		s.hints = drawHints(d)
		hints = s.hints.text(d)
		s.to = pick(d, nil, nil, s.to, []string{"bob"})
	}
	p.w.topic.send(p.spellProposal(d, s, s.proposal(hints)))
	p.afterwards(d, s)
}

// afterwards is what people make of a proposal: its proposer, who may take it
// back, and others, who may request it, refuse it, or claim to be its proposer.
func (p *person) afterwards(d dice, s said) {
	w := p.w
	w.rival(s)
	w.lures(s)
	soon := func() time.Duration { return d.between(0, pick(d, 10*time.Millisecond, 3*time.Second, 15*time.Second)) }
	if w.strikes(withdraw) {
		w.after(soon(), func() { p.withdraw(d, s.id) })
	}
	if w.strikes(withdrawOther) {
		other := pick(d, w.people...)
		w.after(soon(), func() { other.withdraw(d, s.id) })
	}
	for w.strikes(takeUp) {
		other := pick(d, w.callers()...)
		w.after(soon(), func() { other.takeUp(s) })
	}
	for _, other := range w.people {
		if slices.Contains(s.hints.preferred, other.id) && d.chance(.5) || w.strikes(refuseOther) {
			w.after(soon(), func() { other.reject(d, s) })
		}
	}
}
