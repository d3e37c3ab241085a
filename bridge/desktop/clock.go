package desktop

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
)

// A clock keeps what is to be done later. Nothing waits: whoever steps a Proxy
// asks when to come back.
type clock struct {
	now   time.Time
	table timetable.Table[func()]
}

// An alarm is one thing to be done.
type alarm struct {
	*timetable.Entry[func()]
	in *timetable.Table[func()]
}

// stop takes an alarm back. A nil one has been already.
func (a *alarm) stop() {
	if a != nil {
		a.in.Drop(a.Entry)
	}
}

func (c *clock) after(d time.Duration, run func()) *alarm {
	return &alarm{c.table.Set(c.now.Add(d), run), &c.table}
}

// advance does what is due by now, in order.
func (c *clock) advance(now time.Time) {
	if now.After(c.now) {
		c.now = now
	}
	for e := c.table.Due(c.now); e != nil; e = c.table.Due(c.now) {
		c.table.Drop(e)
		e.What()
	}
}

// next is when something is due, zero for never.
func (c *clock) next() time.Time { return c.table.Next() }
