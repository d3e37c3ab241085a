package approval

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// warnAt is when four fifths of the time are over.
func (p *pending) warnAt() time.Time { return p.asked.Add(p.deadline.Sub(p.asked) / 5 * 4) }

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

// wind puts a question where it belongs after its times have changed.
func (d *Desk) wind(p *pending) { d.clock.Move(p.wake, p.nextWake()) }

// Next is when the Desk wants a Tick at the latest; zero: never.
func (d *Desk) Next() time.Time {
	return d.clock.Next()
}

// Tick lets time pass.
func (d *Desk) Tick(now time.Time) []Act {
	d.begin(now)
	return d.out
}

// expire does what is due, in the order of the times.
func (d *Desk) expire() {
	for e := d.clock.Due(d.now); e != nil; e = d.clock.Due(d.now) {
		d.up(e.What)
	}
}

// up: some time of the question is over. Each call uses one up, so that it ends.
func (d *Desk) up(p *pending) {
	if !p.deadline.After(d.now) {
		d.settle(p, Settled{Outcome: Expired, Reason: TimedOut}, nil)
		return
	}
	if !p.warned && !p.warnAt().After(d.now) {
		p.warned = true
		d.note(p, record.Expiring, Who{}, "")
	}
	for _, s := range p.ballots {
		if s.state == beingAsked && !s.till.After(d.now) {
			d.vacate(p, s, outOfTime, "your time to decide is over")
			d.note(p, record.Unavailable, s.who, TimedOut)
			if d.advance(p, TimedOut, ""); !p.wake.Stands() {
				return
			}
		}
	}
	d.wind(p)
}
