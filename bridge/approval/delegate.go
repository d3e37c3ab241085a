package approval

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// pass takes the wish of somebody to have another decide (WIRE 7.4). To an
// impossible one they are asked once more, with the problem in words; a second
// one is a no.
func (d *Desk) pass(p *pending, s *ballot, r reply) {
	to, problem := d.delegate(p, s, r.to)
	if problem != "" {
		if s.retried {
			d.settle(p, Settled{Outcome: Denied, Reason: InvalidDelegation, Detail: problem, Said: r.why}, s)
			return
		}
		s.retried = true
		d.note(p, record.Answer, s.who, InvalidDelegation)
		d.close(p, s, "you are asked anew")
		s.void("already_answered")
		d.show(p, s, InvalidDelegation, problem)
		return
	}
	chain := append(slices.Clone(s.chain), Hop{s.who, to, d.now.UTC().Format(time.RFC3339)})
	till := s.till
	d.vacate(p, s, passedOn, "you passed it on")
	next := p.find(to)
	if next == nil {
		next = &ballot{who: to}
		p.ballots = append(p.ballots, next)
		d.involved[to]++
	}
	next.chain, next.till = chain, till
	d.note(p, record.Delegated, to, "")
	d.show(p, next, "delegated", "")
	d.wind(p)
}

// delegate says who is meant, or why they cannot be asked.
func (d *Desk) delegate(p *pending, s *ballot, name string) (to Who, problem string) {
	terms := p.q.Terms.Delegate
	to = named(name)
	switch {
	case name == "" || !slices.Contains(terms.To, name):
		return to, "a question like this cannot be passed on to " + quote(name)
	case len(s.chain) >= depth(terms):
		return to, "it was passed on as often as it may be"
	case to == s.who || slices.ContainsFunc(s.chain, func(h Hop) bool { return h.By == to }):
		return to, quote(name) + " has had this question already"
	case p.barred(to):
		return to, quote(name) + " has a part in this call and cannot decide on it"
	case s.till.Sub(d.now) < leftToPassOn:
		return to, "too little time is left to ask somebody else"
	case !d.reachable(to):
		return to, quote(name) + " is not here"
	}
	if other := p.find(to); other != nil && other.state != waiting && other.state != away {
		return to, quote(name) + " is asked already"
	}
	return to, ""
}

func quote(name string) string { return text.Quote(name, 64) }
