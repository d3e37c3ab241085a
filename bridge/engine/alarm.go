package engine

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
)

// An alarm is a moment at which the Engine has something to do of its own
// accord.
type alarm = timetable.Entry[func()]

// alarms are the moments to come. Each rings once.
type alarms struct{ table timetable.Table[func()] }

func (a *alarms) set(at time.Time, ring func()) *alarm { return a.table.Set(at, ring) }

// stop is safe for an alarm that has rung, and for nil.
func (a *alarms) stop(al *alarm) { a.table.Drop(al) }

func (a *alarms) next() time.Time { return a.table.Next() }

func (a *alarms) ringDue(now time.Time) {
	for al := a.table.Due(now); al != nil; al = a.table.Due(now) {
		a.table.Drop(al)
		al.What()
	}
}
