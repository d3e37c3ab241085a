package approval

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// settle ends a question. It is the only way to its end, and the question is
// gone before anybody hears of it, so it happens once (RELIABILITY AI-5). by is
// whose answer decided it, nil if nobody's.
func (d *Desk) settle(p *pending, s Settled, by *ballot) {
	d.drop(p)
	s.ID, s.Question, s.Asked, s.Digest, s.Ran = p.id, &p.q, p.asked, p.first, p.digest
	if by != nil {
		s.By, s.Chain = []Who{by.who}, by.chain
	}
	if s.Outcome == Allowed {
		s.By, s.Args, s.Modified, s.Timeout = p.who(agreed), p.args, p.modified, p.timeout
		s.StartBy = d.now.Add(d.o.StartWithin)
	}
	d.flood.settled(p, s.Outcome, d.now, d.o.CoolDown)
	if s.Reason == NoApprover {
		s.Need, s.Here, s.Away = p.need, p.who(agreed, beingAsked, waiting), p.who(away)
	}
	why := s.Sentence()
	for _, ballot := range p.ballots {
		if ballot.state == beingAsked {
			d.closeSaying(p, ballot, why, s.Said)
			d.rest(ballot, away)
		}
	}
	for _, ballot := range p.ballots {
		switch {
		case ballot == by && taken(s.Reason):
			d.endAnswered(p, by, "your answer was taken for a no: "+cmp.Or(s.Detail, text.Words(s.Reason)))
		case ballot == by && p.need > 1, ballot != by && ballot.state == agreed:
			d.endAnswered(p, ballot, why)
		}
	}
	d.archive(p, s.Outcome)
	d.do(s)
}

// endAnswered says to somebody what became of their answer: how a question ended that was not
// theirs alone to decide, or why the answer was taken for a no. It is the end of what they
// answered; what else they have open of the question is taken away as everybody's is.
func (d *Desk) endAnswered(p *pending, s *ballot, because string) {
	for _, a := range slices.Backward(s.asks) {
		if a.answered {
			d.do(Close{ID: p.id, To: s.who, Ask: a.id, RPC: a.rpc(), Because: because})
			return
		}
	}
}

// taken reports whether an answer was taken for a no that need not have been meant as one;
// then it is said to whoever gave it (FINDINGS D6).
func taken(reason string) bool {
	return reason == InvalidAnswer || reason == InvalidModification || reason == InvalidDelegation
}

// Sentence says to those who need not answer any more how it ended, fit to be shown.
func (s *Settled) Sentence() string {
	switch s.Outcome {
	case Allowed, Denied:
		by := "nobody"
		if len(s.By) > 0 {
			by = names(s.By)
		}
		return s.Outcome.String() + " by " + by
	case Expired:
		return "nobody decided in time"
	case Withdrawn:
		if s.Reason == CallerLeft {
			return "the caller left"
		}
		return "the caller took it back"
	case Refused:
		return "not enough people are left who could decide"
	}
	if s.Reason == ShuttingDown {
		return "the bridge stopped"
	}
	return endedIt + text.Words(s.Reason)
}

// Ours reports whether a sentence is one that [Settled.Sentence] says, and not one of somebody
// who is no bridge of ours, or of a question that did not end.
func Ours(sentence string) bool {
	for _, said := range []Settled{{Outcome: Expired}, {Outcome: Withdrawn}, {Outcome: Withdrawn, Reason: CallerLeft}, {Outcome: Refused}, {Reason: ShuttingDown, Outcome: Aborted}} {
		if sentence == said.Sentence() {
			return true
		}
	}
	return slices.ContainsFunc([]string{Allowed.String() + " by ", Denied.String() + " by ", endedIt}, func(begins string) bool {
		return strings.HasPrefix(sentence, begins)
	})
}

const endedIt = "the bridge ended it: "

func names(people []Who) string {
	var all []string
	for _, w := range people {
		all = append(all, text.Line(text.Person(w.String())))
	}
	return text.Series(all, 0)
}

// archive keeps what is needed to tell a late answer from a foreign one.
func (d *Desk) archive(p *pending, how Outcome) {
	d.remember(p.id, ended{id: p.id, how: how.String()})
	for _, s := range p.ballots {
		for _, a := range s.asks {
			e := ended{p.id, s.who, how.String()}
			if a.void != "" {
				e.how = a.void
			}
			delete(d.asks, a.id)
			d.remember(a.id, e)
		}
	}
}

func (d *Desk) remember(key string, e ended) {
	d.late[key] = e
	d.gone = append(d.gone, forgettable{d.now, key})
}

// forget drops what was settled long ago.
func (d *Desk) forget() {
	n := 0
	for n < len(d.gone) && (len(d.gone)-n > maxLate || d.now.Sub(d.gone[n].at) >= keepLate) {
		delete(d.late, d.gone[n].key)
		n++
	}
	if d.gone = d.gone[n:]; len(d.gone) == 0 {
		d.gone = nil
	}
}

// turnAway settles a question that was never put to anybody.
func (d *Desk) turnAway(p *pending, reason, detail string, retry time.Duration) []Act {
	how := Refused
	if reason == TimedOut {
		how = Expired
	}
	s := Settled{ID: p.id, Question: &p.q, Outcome: how, Reason: reason, Detail: detail, Digest: p.digest, Ran: p.digest,
		Retry: retry, Asked: p.asked}
	if reason == NoApprover {
		s.Need, s.Here, s.Away = p.need, p.who(agreed, beingAsked, waiting), p.who(away)
	}
	d.do(s)
	return d.out
}

func (d *Desk) drop(p *pending) {
	delete(d.pending, p.id)
	d.bytes -= p.size()
	for _, s := range p.ballots {
		if d.involved[s.who]--; d.involved[s.who] == 0 {
			delete(d.involved, s.who)
		}
	}
	d.flood.closed(budgetOf(p))
	for _, party := range [...]string{p.q.Caller, p.q.Proposer} {
		if d.parties[party]--; d.parties[party] == 0 {
			delete(d.parties, party)
		}
	}
	d.clock.Drop(p.wake)
}
