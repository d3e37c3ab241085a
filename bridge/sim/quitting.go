package sim

import (
	"bytes"
	"encoding/json"
	"time"
)

// A server hears it when nobody waits for a call any more: its caller took it back, or
// is gone for good, or it has had its time (FINDINGS P3, P12). It hears it at once, and
// of no other call.

// soon is how long that may take on a bridge whose flush or timer is late.
const soon = 5 * time.Second

// moot: nobody waits for what the server has of a claim. What is over on record it has
// given an answer to, though perhaps none that can be read (seed 462965).
func (c *checker) moot(cl *claim) {
	l := cl.line
	if l == nil || l.moot || l.said || cl.ended || !cl.open() || l.life != c.w.server.life || c.proc == nil || cl.proc != c.proc.number {
		return
	}
	l.moot, l.mootAt = true, c.w.now
	c.mustHear(l, 2)
}

// cancelsAll: the bridge is told to end what runs, as it is halted.
func (c *checker) cancelsAll() {
	for _, cl := range c.order {
		c.moot(cl)
	}
}

// mustHear looks in a while whether the server has heard that a line is moot, and once
// more: a machine that slept has its timers due before what it has to say.
func (c *checker) mustHear(l *line, tries int) {
	p := c.proc
	c.w.after(soon, func() {
		switch {
		case l.quit || l.said || c.proc != p || c.w.server.life != l.life || !c.w.server.alive:
		case c.w.log.failedSince(l.mootAt): // what could not be put on record takes this along
		case tries > 1:
			c.mustHear(l, tries-1)
		default:
			c.blame("P12", "nobody waits for %v any more, and the server was not told", l.claim)
		}
	})
}

// callerGone: the bridge counts somebody as gone, who said so. It waits longer for whom
// a roster merely did not have.
func (c *checker) callerGone(id string) {
	if _, is := c.missing[id]; is && !c.leaveWasDue(id) {
		return
	}
	for _, cl := range c.order {
		switch {
		case cl.from != id || cl.offer():
		case len(cl.corr) == 0:
			c.moot(cl)
		case cl.line != nil: // of what serves a proposal others hear too, if the bridge knows of that
			cl.line.halfMoot = true
		}
	}
}

// leaveTakes is how long somebody who said that they left may be back.
const leaveTakes = 5 * time.Second

// leaveWasDue: the roster of this moment is the first without somebody, and that they left counted before it came: what
// is due is judged before what comes (seed 99712402). What was said before the seat was lost counts no more.
func (c *checker) leaveWasDue(id string) bool {
	a := c.absences[id]
	return c.missing[id] == c.w.now && a != nil && a.since > c.lostAt && c.w.now-a.since >= leaveTakes
}

// quits: the server is told that nobody waits for a call any more. lost: it could not be.
func (c *checker) quits(raw []byte, lost bool) {
	var m struct {
		Method string
		Params struct{ RequestID json.RawMessage }
	}
	if json.Unmarshal(raw, &m) != nil || m.Method != "notifications/cancelled" {
		return
	}
	l := c.lines[string(bytes.TrimSpace(m.Params.RequestID))]
	switch {
	case l == nil && !c.untaken[string(m.Params.RequestID)] && !c.w.log.failedSince(c.w.now):
		c.blame("P12", "the server is told to stop what it was never asked: %s", raw)
	case l == nil || l.claim == nil || l.said || lost:
	case !l.moot && !l.halfMoot && !l.claim.tookBack && c.w.now-l.claim.since < callTime:
		c.blame("P12", "the server is told to stop %v, for which somebody waits", l.claim)
	}
	if l != nil {
		l.quit = true
	}
}
