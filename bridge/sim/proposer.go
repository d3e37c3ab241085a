package sim

import (
	"fmt"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// offers plans what is proposed, and not requested, in a world that has that.
func (w *world) offers() {
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
	if !p.here {
		return
	}
	s := said{id: p.fresh("p"), from: p.id, kind: wire.Proposal, perfect: true, to: pick(d, []string{us}, []string{us}, nil)}
	p.pickTool(&s)
	if d.chance(.3) {
		s.ttl = d.between(time.Second, 40*time.Second)
	}
	p.w.topic.send(p.w.topic.spell(s, s.proposal()))
	p.afterwards(d, s)
}

// proposal is its payload.
func (s *said) proposal() []byte {
	payload := fmt.Appendf(nil, `{"method":"tools/call","params":{"name":"%s","arguments":%s}`, s.tool, s.args)
	if s.ttl > 0 {
		payload = fmt.Appendf(payload, `,"ttl":%d`, s.ttl.Milliseconds())
	}
	return append(payload, '}')
}

// afterwards is what people make of a proposal: its proposer, who may take it
// back, and others, who may request it or claim to be its proposer.
func (p *person) afterwards(d dice, s said) {
	w := p.w
	soon := func() time.Duration { return d.between(0, pick(d, 10*time.Millisecond, 3*time.Second, 15*time.Second)) }
	if w.strikes(withdraw) {
		w.after(soon(), func() { p.withdraw(s.id) })
	}
	if w.strikes(withdrawOther) {
		other := pick(d, w.people...)
		w.after(soon(), func() { other.withdraw(s.id) })
	}
	for w.strikes(takeUp) {
		other := pick(d, w.callers()...)
		w.after(soon(), func() { other.takeUp(s) })
	}
}

func (p *person) withdraw(id string) {
	if p.here {
		s := said{id: p.word("w"), from: p.id, to: []string{us}, kind: wire.Withdraw, corr: []string{id}}
		p.w.topic.send(p.w.topic.spell(s, []byte(`{"reason":"no_longer_needed"}`)))
	}
}

// takeUp requests what was proposed.
func (p *person) takeUp(of said) {
	if !p.here {
		return
	}
	s := of
	s.id, s.from, s.to, s.kind, s.corr, s.ttl = p.fresh("t"), p.id, []string{us}, wire.Request, []string{of.id}, 0
	s.rpc = fmt.Append(nil, p.serial)
	f := p.w.topic.spell(s, s.payload())
	p.made = append(p.made, f)
	p.w.topic.send(f)
}
