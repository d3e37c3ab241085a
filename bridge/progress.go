package bridge

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
)

// A pace lets some pass at once, and then one each time that a while has passed.
type pace struct{ paid time.Time }

func (p *pace) wait(now time.Time, atOnce int, every time.Duration) time.Duration {
	return max(0, p.paid.Add(-time.Duration(atOnce-1)*every).Sub(now))
}

func (p *pace) take(now time.Time, n int, every time.Duration) {
	if p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(time.Duration(n) * every)
}

// progressing is the progress of a call as its caller hears of it.
type progressing struct {
	pace
	waits []byte                   // the newest that has not passed; nil: none
	alarm *timetable.Entry[func()] // when it may
}
