package sim

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// Whoever was refused a tool thrice in a row asks nobody for a while, whatever it
// would have been given (DESIGN 14).
const (
	refusedInARow = 3
	coolDown      = 10 * time.Minute
)

// counts what people refused, and what they agreed to: not what they had agreed to
// before, for longer.
func (c *checker) counts(cl *claim, r record.Record) {
	key := streakOf(cl)
	s := c.streaks[key]
	switch {
	case cl.question == "":
	case r.Outcome == "allowed" && r.Grant != "" && r.Keep == "":
	case r.Outcome == "allowed":
		delete(c.streaks, key)
	case r.Outcome == "denied":
		if s == nil || s.till <= c.w.now {
			s = &streak{}
			c.streaks[key] = s
		}
		s.n++
		s.till = c.w.now + coolDown
	}
}

// inARow is how often people have refused the caller of a call this tool by now.
func (c *checker) inARow(cl *claim) int {
	if s := c.streaks[streakOf(cl)]; s != nil && s.till > c.w.now {
		return s.n
	}
	return 0
}

// inStreak: somebody is asked about a call.
func (c *checker) inStreak(cl *claim) {
	if cl.refusals >= refusedInARow {
		c.blame("L2", "%v is put before people, who have refused its caller that tool %d times in a row", cl, cl.refusals)
	}
}
