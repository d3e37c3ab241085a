package approval

import "time"

// SetHere says whether somebody is here and can be asked. Nobody is before that is said.
// It changes no question: Joined and Left do.
func (d *Desk) SetHere(w Who, here bool) {
	if here {
		d.here[w] = true
	} else {
		delete(d.here, w)
	}
}

// SetBelieved says whether participants are taken for who they say they are. Where they
// are not, none of them is here (WIRE 7.2).
func (d *Desk) SetBelieved(yes bool) { d.believed = yes }

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
