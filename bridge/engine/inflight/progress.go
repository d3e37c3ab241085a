package inflight

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
)

// A Pace lets some pass at once, and then one each time that a while has passed.
type Pace struct{ paid time.Time }

func (p *Pace) Wait(now time.Time, atOnce int, every time.Duration) time.Duration {
	return max(0, p.paid.Add(-time.Duration(atOnce-1)*every).Sub(now))
}

func (p *Pace) Take(now time.Time, n int, every time.Duration) {
	if p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(time.Duration(n) * every)
}

// Progress is the progress of a call as its caller hears of it.
type Progress struct {
	Pace
	Waits []byte                // the newest that has not passed; nil: none
	Alarm *timetable.Entry[any] // when it may
}
