package approval

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// A state says how far somebody is with a question.
type state uint8

const (
	waiting    state = iota // was not asked yet
	beingAsked              // has it open
	agreed
	passedOn  // to somebody else, who has a ballot of their own
	away      // is not here
	failed    // cannot answer: what came was an error
	outOfTime // took too long
	struck    // the policy lets them decide no more
)

// A ballot is somebody's part in one question.
type ballot struct {
	who     Who
	state   state
	asks    []*ask // that count; only participants have any
	till    time.Time
	chain   []Hop // how the question came here
	retried bool  // after passing it on to somebody impossible

	corrected bool   // was asked again after an answer that named no question, or two
	keep      string // what to remember, once agreed
}

// An ask is one elicitation: a question, once, before one participant.
type ask struct {
	p        *pending
	s        *ballot
	id       string // 128 random bits in hex: the envelope; after "elicit-" the JSON-RPC id
	void     string // why an answer to it no longer counts; "" while it does
	answered bool   // also where another reason than that has taken the place of void since
}

// maxAsks bounds how often one question is put to one participant anew.
const maxAsks = 16

// rpc is the ask's JSON-RPC id as it stands in the message.
func (a *ask) rpc() []byte { return []byte(`"` + rpcPrefix + a.id + `"`) }

const rpcPrefix = "elicit-"

// askOf is the envelope id that goes with one of our JSON-RPC ids, "" if it is
// none of ours.
func askOf(rpc []byte) string {
	const open = `"` + rpcPrefix
	if len(rpc) <= len(open)+1 || string(rpc[:len(open)]) != open || rpc[len(rpc)-1] != '"' {
		return ""
	}
	return string(rpc[len(open) : len(rpc)-1])
}

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

// barred: nobody decides about a matter of their own, save the person behind a
// client about what that client does, and about nothing else.
func (p *pending) barred(w Who) bool {
	if w.Door == Host {
		return !p.q.Host
	}
	return w.Door == Topic && (w.ID == "" || w.ID == p.q.Caller || w.ID == p.q.Proposer || w.ID == p.q.Bridge)
}

func (p *pending) find(w Who) *ballot {
	for _, s := range p.ballots {
		if s.who == w {
			return s
		}
	}
	return nil
}

// reachable: is here and has not too many questions to answer already.
func (d *Desk) reachable(w Who) bool { return d.o.Present(w) && !d.full(w) }

func (d *Desk) full(w Who) bool { return w.Door == Topic && d.before[w] >= d.o.PerApprover }

// answerable says why a new question could not be answered, "" if it can.
func (d *Desk) answerable(p *pending) (reason string) {
	full := 0
	for _, s := range p.ballots {
		if d.full(s.who) && d.o.Present(s.who) {
			full++
		}
	}
	switch possible := p.count(waiting); {
	case possible >= p.need:
		return ""
	case possible+full >= p.need:
		return Busy
	}
	return NoApprover
}

func (p *pending) count(states ...state) (n int) {
	for _, s := range p.ballots {
		if slices.Contains(states, s.state) {
			n++
		}
	}
	return n
}

func (p *pending) sequential() bool { return p.q.Terms.Mode == "sequential" }

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
			s.till = d.now.Add(p.deadline.Sub(d.now) / time.Duration(p.count(waiting)))
		}
		d.show(p, s, "", "")
	}
	if p.count(agreed, beingAsked, waiting) < p.need {
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

// rest takes a ballot out of those who are being asked.
func (d *Desk) rest(s *ballot, to state) {
	if s.state == beingAsked {
		d.before[s.who]--
		if d.before[s.who] == 0 {
			delete(d.before, s.who)
		}
	}
	s.state = to
}

// vacate takes the question away from somebody who has it open. why is for
// them to read.
func (d *Desk) vacate(p *pending, s *ballot, to state, why string) {
	if s.state == beingAsked {
		d.close(p, s, why)
	}
	s.void(voided[to])
	d.rest(s, to)
}

// voided says for the record why an answer comes too late, by the state its
// sender is in.
var voided = map[state]string{
	agreed: "already_answered", passedOn: "already_answered", failed: "already_answered", away: "left", outOfTime: TimedOut, struck: "wrong_sender",
}

// close takes down every view somebody has.
func (d *Desk) close(p *pending, s *ballot, why string) {
	if s.who.Door != Topic {
		d.do(Close{ID: p.id, To: s.who, Because: why})
	}
	for _, a := range s.asks {
		if a.void == "" {
			d.do(Close{ID: p.id, To: s.who, Ask: a.id, RPC: a.rpc(), Because: why})
		}
	}
}

// void makes what somebody was asked count no more.
func (s *ballot) void(why string) {
	for _, a := range s.asks {
		if a.void == "" {
			a.void = why
		}
	}
}

// Left: somebody is gone for good, not just for a moment; the Engine waits a
// while before it believes so (DESIGN 14). Their own calls go with them.
func (d *Desk) Left(now time.Time, w Who) []Act {
	d.begin(now)
	if w.Door == Topic {
		d.endGrants(w.ID)
	}
	if d.before[w] == 0 && (w.Door != Topic || d.parties[w.ID] == 0) {
		return d.out
	}
	for _, p := range d.inOrder() {
		if w.Door == Topic && w.ID == p.q.Caller {
			d.settle(p, Settled{Outcome: Withdrawn, Reason: CallerLeft}, nil)
		} else if w.Door == Topic && w.ID == p.q.Proposer {
			d.settle(p, Settled{Outcome: Aborted, Reason: ProposerLeft}, nil) // the caller waits on
		} else if s := p.find(w); s != nil && s.state == beingAsked {
			d.lose(p, s, away, "left")
		}
	}
	return d.out
}

// Unreachable: the elicitation with that envelope id did not get out.
func (d *Desk) Unreachable(now time.Time, id string) []Act {
	d.begin(now)
	if a := d.asks[id]; a != nil && a.void == "" && a.s.state == beingAsked {
		d.lose(a.p, a.s, failed, "not_sent")
	}
	return d.out
}

// lose goes on without somebody.
func (d *Desk) lose(p *pending, s *ballot, to state, why string) {
	s.void(voided[to])
	d.rest(s, to)
	d.note(p, record.Unavailable, s.who, why)
	d.advance(p, NoApprover, why)
}

// Joined: somebody has come, or come back, be it that nobody saw them go. What
// they had been shown counts no more: an answer counts only from a session
// that was sent the question (RELIABILITY AI-22).
func (d *Desk) Joined(now time.Time, w Who) []Act {
	d.begin(now)
	if d.involved[w] == 0 {
		return d.out
	}
	for _, p := range d.inOrder() {
		s := p.find(w)
		switch {
		case s == nil || !p.wake.Stands():
		case s.state == beingAsked:
			s.void("old_session")
			d.show(p, s, "rejoined", "")
		case s.state == away:
			s.state = waiting
			d.advance(p, NoApprover, "")
		}
	}
	return d.out
}

// Reask puts every open question before its participants once more, under new
// ids: our own connection was lost, and nobody knows what got through. The old
// ids still count (WIRE 7.2).
func (d *Desk) Reask(now time.Time) []Act {
	d.begin(now)
	for _, p := range d.inOrder() {
		for _, s := range p.ballots {
			if s.state == beingAsked && s.who.Door == Topic && s.till.Sub(now) >= leftToReask {
				d.show(p, s, "reconnected", "")
			}
		}
	}
	return d.out
}

// note puts something about a question on record.
func (d *Desk) note(p *pending, event record.Event, w Who, reason string) {
	n := Noted{ID: p.id, Event: event, Who: w, Reason: reason, Have: p.count(agreed), Digest: p.digest}
	if s := p.find(w); s != nil {
		n.Chain = s.chain
	}
	d.do(n)
}

// Waiting are those who have a question open, for the caller's notice.
func (d *Desk) Waiting(id string) (names []string) {
	if p := d.pending[id]; p != nil {
		for _, s := range p.ballots {
			if s.state == beingAsked {
				names = append(names, s.who.String())
			}
		}
	}
	return names
}

// UnreachableAll: no elicitation gets out any more.
func (d *Desk) UnreachableAll(now time.Time) []Act {
	d.begin(now)
	for _, p := range d.inOrder() {
		for _, s := range p.ballots {
			if s.who.Door == Topic && s.state == beingAsked {
				d.lose(p, s, failed, "not_sent")
			}
			if !p.wake.Stands() {
				break // it is settled
			}
		}
	}
	return d.out
}
