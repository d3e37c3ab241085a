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
