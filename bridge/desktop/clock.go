package desktop

import (
	"slices"
	"time"
)

// A clock keeps what is to be done later. Nothing waits: whoever steps a Face
// asks when to come back.
type clock struct {
	now    time.Time
	alarms []*alarm // by time; the first is due first
}

// An alarm is one thing to be done.
type alarm struct {
	at  time.Time
	run func() // nil once it was stopped
}

// stop takes an alarm back. A nil one has been already.
func (a *alarm) stop() {
	if a != nil {
		a.run = nil
	}
}

func (c *clock) after(d time.Duration, run func()) *alarm {
	a := &alarm{at: c.now.Add(d), run: run}
	i, _ := slices.BinarySearchFunc(c.alarms, a.at, func(have *alarm, at time.Time) int {
		if have.at.After(at) {
			return 1
		}
		return -1 // behind those of the same time
	})
	c.alarms = slices.Insert(c.alarms, i, a)
	return a
}

// advance does what is due by now, in order.
func (c *clock) advance(now time.Time) {
	if now.After(c.now) {
		c.now = now
	}
	for len(c.alarms) > 0 && !c.alarms[0].at.After(c.now) {
		a := c.alarms[0]
		c.alarms = slices.Delete(c.alarms, 0, 1)
		if run := a.run; run != nil {
			a.run = nil
			run()
		}
	}
}

// next is when something is due, zero for never.
func (c *clock) next() time.Time {
	c.alarms = slices.DeleteFunc(c.alarms, func(a *alarm) bool { return a.run == nil })
	if len(c.alarms) == 0 {
		return time.Time{}
	}
	return c.alarms[0].at
}
