package approval

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// ballot gives a place to everybody who is listed and may decide: not the caller,
// not the proposer, not ourselves (RELIABILITY AI-1, AI-2).
func (d *Desk) ballot(p *pending) {
	for _, name := range p.q.Terms.Of {
		who := named(name)
		if p.barred(who) || p.find(who) != nil {
			continue
		}
		s := &ballot{who: who}
		if !d.reachable(who) {
			s.state = away
		}
		p.ballots = append(p.ballots, s)
	}
}

// answerable says why a new question could not be answered, "" if it can.
func (d *Desk) answerable(p *pending) (reason string) {
	full := 0
	for _, s := range p.ballots {
		if d.full(s.who) && d.present(s.who) {
			full++
		}
	}
	switch possible := d.able(p, waiting); {
	case possible >= p.need:
		return ""
	case p.q.Terms.Confirm == "" && possible+full >= p.need:
		return Busy
	}
	return NoApprover
}

// advance asks whoever is to be asked now, and settles the question when not
// enough are left who could agree: for the reason why the last one dropped out.
func (d *Desk) advance(p *pending, otherwise, detail string) {
	for _, s := range p.ballots {
		if s.state == waiting && !d.reachable(s.who) {
			s.state = away
		}
	}
	for _, s := range p.ballots {
		if s.state != waiting || p.sequential() && p.count(beingAsked) > 0 {
			continue
		}
		s.till = p.deadline
		if p.sequential() {
			now := p.at(d.now)
			s.till = now.Add(p.deadline.Sub(now) / time.Duration(p.count(waiting)))
		}
		d.show(p, s, "", "")
	}
	if d.able(p, agreed, beingAsked, waiting) < p.need {
		how := Refused
		if otherwise == TimedOut {
			how = Expired
		}
		d.settle(p, Settled{Outcome: how, Reason: otherwise, Detail: detail}, nil)
		return
	}
	d.wind(p)
}

// show puts the question before somebody; again says why, if not for the first
// time, and problem what was wrong with the last answer.
func (d *Desk) show(p *pending, s *ballot, again, problem string) {
	if s.state != beingAsked {
		s.state = beingAsked
		d.before[s.who]++
	}
	if d.halted {
		return // Resume does
	}
	act := Show{ID: p.id, To: s.who, By: s.till, Why: again, Problem: problem, Digest: p.digest}
	if s.who.Door == Topic {
		a := &ask{p: p, s: s, id: d.fresh()}
		d.asks[a.id] = a
		s.asks = append(s.asks, a)
		if len(s.asks) > maxAsks {
			delete(d.asks, s.asks[0].id)
			s.asks = slices.Delete(s.asks, 0, 1)
		}
		act.Ask, act.RPC, act.Params = a.id, a.rpc(), d.params(p, s, problem)
	}
	d.do(act)
}

// lose goes on without somebody.
func (d *Desk) lose(p *pending, s *ballot, to state, why string) {
	s.void(voided[to])
	d.rest(s, to)
	d.note(p, record.Unavailable, s.who, why)
	d.advance(p, NoApprover, why)
}
