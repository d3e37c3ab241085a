package inflight

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
)

// Gateways deliver each frame to everybody in the topic, whomever it is for, and cut off
// who cannot keep up. So what a server says often has a pace. Progress of a call passes at
// once as long as it is not much; beyond that the newest passes now and then, and the last
// before the answer always.
var (
	OfCall = Rate{64, time.Second / 20}    // progress of one call
	OfAll  = Rate{1024, time.Second / 500} // all that a server says of progress and of changed resources, in frames
)

// A Rate lets some pass at once, and then one each time that a while has passed.
type Rate struct {
	AtOnce int
	Every  time.Duration
}

// A Pace is what has passed at a Rate.
type Pace struct{ paid time.Time }

// Wait is how long the next has to wait; 0: it may pass.
func (p *Pace) Wait(now time.Time, r Rate) time.Duration {
	return max(0, p.paid.Add(-time.Duration(r.AtOnce-1)*r.Every).Sub(now))
}

// Take counts n that pass.
func (p *Pace) Take(now time.Time, n int, r Rate) {
	if p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(time.Duration(n) * r.Every)
}

// Weight is for how many a long notification counts.
func Weight(payload []byte) int { return 1 + len(payload)/(4<<10) }

// Progress is the progress of a call as its caller hears of it.
type Progress struct {
	Pace
	Waits []byte                // the newest that has not passed; nil: none
	Alarm *timetable.Entry[any] // when it may
}
