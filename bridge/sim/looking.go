package sim

import "time"

// A server of 2026-07-28 says nothing of its own accord. Who has its tools changed
// without a word, as such a server may, must not have people agree to one definition and
// run another (FINDINGS P1): so its tools are read once more before a start that
// somebody agreed to, and at intervals where it cannot be listened to.

// startWithin is how long after a yes its call must have started.
const startWithin = 30 * time.Second

// looks takes down the order of a line, and when the tools were asked for.
func (c *checker) looks(l *line) {
	c.looking.count++
	l.order = c.looking.count
	if l.claim != nil || !l.own() || l.Method != "tools/list" {
		return
	}
	c.looking.asked, c.looking.last = c.w.now, l.order
}

// looked notes which listing was answered last.
func (c *checker) looked(l *line) { c.looking.read, c.looking.readAt = l.order, c.w.now }

// longestUnread is how long the tools of a server that tells nothing may go unread: a
// minute since it said what they are, which may take it long (seed 70105808), or a listing
// without an answer and another try.
const longestUnread = time.Minute + 10*time.Second

// startsAsRead: what is to start was read again since somebody agreed to it, and what
// nobody was asked about not long ago.
func (c *checker) startsAsRead(cl *claim) {
	if !c.w.o.Modern || cl.method != "tools/call" {
		return
	}
	switch {
	case cl.question != "" && c.looking.read < cl.allowedOrder:
		c.blame("P1", "%v starts, and its tool was not read again since somebody agreed to it", cl)
	case cl.question == "" && c.w.server.listening == "" && c.w.dozedAt < c.looking.asked && c.w.now-max(c.looking.asked, c.looking.readAt) > longestUnread:
		c.blame("P1", "%v starts, and the tools of a server that tells nothing were not asked for since %v", cl, c.looking.asked)
	}
}

// notReadAgain: what was agreed to may not start, as the server has not said once more
// what its tools are.
func (c *checker) notReadAgain(cl *claim) bool {
	unasked := c.w.log.failedSince(cl.allowedAt)                               // what could not be put on record took the question along
	late := c.looking.readAt == c.w.now && c.w.now-cl.allowedAt >= startWithin // time was over before that was read (seed 40011905)
	return c.w.o.Modern && cl.allowed && (c.looking.read < cl.allowedOrder || c.looking.read < c.looking.last || unasked || late)
}

// mayGoOn: something is still to be done when all is over: the tools are read again.
func (c *checker) mayGoOn(next time.Time) bool {
	return c.w.o.Modern && next.Sub(c.w.clock(c.proc)) <= time.Minute
}
