package approval

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// begin starts an event: what is overdue comes before anything else, so that a
// late answer is late whether or not a Tick was.
func (d *Desk) begin(now time.Time) {
	d.now, d.out, d.unverified = now, nil, nil
	d.expire()
	d.forget()
}

// Tick lets time pass.
func (d *Desk) Tick(now time.Time) []Act {
	d.begin(now)
	return d.out
}

// expire does what is due, in the order of the times.
func (d *Desk) expire() {
	if d.halted {
		return
	}
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
