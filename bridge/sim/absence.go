package sim

import (
	"slices"
	"time"
)

// givenUp: an answer is kept for a minute in which there is no seat, or its caller
// is not here; and there are never so many in a world that the bridge cannot keep
// them all.
func (c *checker) givenUp(cl *claim, why string) {
	a := c.absences[cl.from]
	never := !slices.Contains(everybody, cl.from) // an id that only looks like one of theirs has no seat
	gone := never && c.w.now-cl.heardAt >= time.Minute || a != nil && (a.longTill >= cl.heardAt || a.is() && c.w.now-a.since >= time.Minute)
	switch {
	case why == "caller_gone" && gone, why == "shutting_down" && c.proc.leaving:
	default:
		c.blame("I12", "the answer to %v is given up as %s, and its caller was not away for a minute", cl, why)
	}
}

// absent notes that somebody is gone or not, and that the bridge has a seat or not.
func (c *checker) absent(id string, gone, seatless bool) {
	a := c.absences[id]
	if a == nil {
		a = &absence{backAt: -1, longTill: -1, goneAt: -1}
		c.absences[id] = a
	}
	was := a.is()
	a.gone, a.seatless = gone, seatless
	if was && !a.is() {
		a.backAt = c.w.now
	}
	switch {
	case !was && a.is():
		a.since = c.w.now
	case was && !a.is() && c.w.now-a.since >= time.Minute:
		a.longTill = c.w.now
	}
	if gone {
		a.goneAt = c.w.now
	}
}

// seen: somebody is here, though that may have been read from a seat that is lost
// by now.
func (c *checker) seen(id string) {
	delete(c.missing, id)
	c.absent(id, false, c.absences[id] != nil && c.absences[id].seatless)
}

// unseated: nobody can be reached.
func (c *checker) unseated() {
	c.lostAt = c.w.now
	for _, id := range everybody {
		c.absent(id, c.absences[id] != nil && c.absences[id].gone, true)
	}
}
