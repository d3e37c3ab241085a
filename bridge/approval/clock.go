package approval

import (
	"time"
)

// warnAt is when four fifths of the time are over.
func (p *pending) warnAt() time.Time { return p.began().Add(p.deadline.Sub(p.began()) / 5 * 4) }

func (p *pending) nextWake() time.Time {
	at := p.deadline
	if w := p.warnAt(); !p.warned && w.Before(at) {
		at = w
	}
	for _, s := range p.ballots {
		if s.state == beingAsked && s.till.Before(at) {
			at = s.till
		}
	}
	return at
}

// wind sets anew when a question wakes, after its times have changed.
func (d *Desk) wind(p *pending) { d.clock.Move(p.wake, p.nextWake()) }

// Next is when the Desk wants a Tick at the latest; zero: never.
func (d *Desk) Next() time.Time {
	if d.halted {
		return time.Time{}
	}
	return d.clock.Next()
}

// thaw has the time go on that stood still.
func (p *pending) thaw(now time.Time) {
	stood := now.Sub(p.frozen)
	p.frozen, p.stood = time.Time{}, p.stood+stood
	p.deadline = p.deadline.Add(stood)
	for _, s := range p.ballots {
		s.till = s.till.Add(stood)
	}
}

// at is what the clock of a question shows.
func (p *pending) at(now time.Time) time.Time {
	if p.frozen.IsZero() {
		return now
	}
	return p.frozen
}

// began is when a question was asked, or would have been had its time never stood still.
func (p *pending) began() time.Time { return p.asked.Add(p.stood) }
