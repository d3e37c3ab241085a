package sim

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// The owner may halt the bridge (DESIGN 7): from then on nothing starts, and the time of
// questions stands still, until the owner has said that it goes on and that is on the disk.

// halted: it was told to halt, and nobody could see yet that it goes on.
func (c *checker) halted() bool { return len(c.halts) > 0 && !c.halts[len(c.halts)-1].goesOn }

// haltedNow: the bridge is about to be halted, or begins so.
func (c *checker) haltedNow() {
	c.goesAt = 0
	if c.halted() {
		return
	}
	c.halts = append(c.halts, halt{from: c.w.now})
	for _, cl := range c.order {
		if cl.proc == c.proc.number && cl.allowed && cl.line == nil {
			c.haltedBy[cl] = true
		}
	}
	for _, a := range c.askOrder {
		a.closed = true // it is taken away from all, and put anew
	}
}

// goesOn: the bridge says that it is halted no more.
func (c *checker) goesOn() {
	if c.halted() {
		if !c.resumedOnDisk() {
			c.blame("I18", "the bridge goes on, and that is not on the disk")
		}
		last := &c.halts[len(c.halts)-1]
		last.till, last.goesOn = c.w.now, true
	}
}

// resumedOnDisk says whether it is on the disk that the bridge goes on.
func (c *checker) resumedOnDisk() bool { return c.goesAt > 0 && c.w.log.synced >= c.goesAt }

// stood is for how long the time of questions stood still between two moments.
func (c *checker) stood(from, to time.Duration) (sum time.Duration) {
	for _, h := range c.halts {
		till := h.till
		if !h.goesOn {
			till = to
		}
		sum += max(0, min(till, to)-max(h.from, from))
	}
	return sum
}

// startsHalted: nothing starts while the bridge is halted, nor afterwards what would have
// started before.
func (c *checker) startsHalted(cl *claim) {
	switch {
	case c.halted() && !c.resumedOnDisk():
		c.blame("I18", "%v starts while the bridge is halted", cl)
	case c.haltedBy[cl]:
		c.blame("I18", "%v starts, and had not when the bridge was halted", cl)
	}
}

// countsWhileHalted: of what is said at our own door then, a no counts and nothing else does.
func (c *checker) countsWhileHalted(a inbox.Decision) bool {
	return !c.halted() || !readAnswer(a.Result, way{}).yes
}
