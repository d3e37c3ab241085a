package sim

import (
	"slices"
	"time"
)

// Other bridges, that may serve the same proposals: each says so with a request to
// itself, and the order in which the gateway gives such requests to all is whose it is
// (DESIGN 8). What they make of it afterwards is not our matter.

// echoWait is how long a claim is waited for at a gateway that may return nothing.
const echoWait = 2 * time.Second

// echoPatience is how long one is waited for at a gateway that has returned one.
const echoPatience = 10 * time.Second

// cameBack: the bridge hears itself.
func (c *checker) cameBack(s *said) {
	for _, cl := range c.offersOf(s.corr) {
		if cl.self != s.id {
			continue
		}
		c.echoAt = c.w.now
		if !cl.echoed {
			cl.echoed, cl.echoedAt = true, c.w.now
			if cl.before != "" && !cl.started && c.w.now-cl.shownAt < echoWait {
				cl.lostTo = cl.before
			}
		}
	}
}

// claimLost: the gateway has returned another claim on this seat, and has not in time
// returned that for a proposal, which the bridge gives up (seeds 7041, 10948, 16939, 20333).
func (c *checker) claimLost(cl *claim) bool {
	returned := c.w.now
	if cl.echoed {
		returned = cl.echoedAt
	}
	return c.echoAt > c.lostAt && cl.shown && returned-cl.shownAt >= echoPatience
}

// rivalled: the bridge hears that somebody else would serve a proposal.
func (c *checker) rivalled(s *said) {
	for _, cl := range c.offersOf(s.corr) {
		if cl.tool != s.tool || !slices.Contains(everybody, s.from) {
			continue
		}
		cl.rivalled = true
		cl.excuse("another bridge serves it")
		switch {
		case cl.echoed || cl.started || !c.w.link.echoes || !cl.surelyContested():
		case !cl.shown || c.echoAt > c.lostAt:
			cl.lostTo = s.from
		case cl.before == "": // nothing has come back on this seat, so that its order is not known yet (seed 71425)
			cl.before = s.from
		}
		cl.lend(s)
	}
}

// awaySince: the bridge had no seat for a while since it heard a proposal.
func (c *checker) awaySince(cl *claim) bool { return c.lostAt >= cl.heardAt && c.lostAt > 0 }

// tooEarly: others are to serve a proposal first, or alone.
func (c *checker) tooEarly(cl *claim) bool {
	h := &cl.hints
	switch {
	case !cl.offer() || cl.targeted():
		return false
	case len(cl.to) > 0 || len(h.preferred) > 0 && h.never:
		return true
	case len(h.preferred) == 0 || c.w.now-cl.heardAt >= h.wait:
		return false
	}
	return h.exclusive || slices.ContainsFunc(h.preferred, func(who string) bool { return !cl.refusing[who] })
}

// dueBeforeList: it was a proposal's turn before the listing that comes at this moment, and no
// timer has rung since, which may have slept. What is due is judged before what comes, so by no
// list (seed 94019774).
func (c *checker) dueBeforeList(cl *claim) bool {
	due := cl.heardAt + cl.hints.wait
	return c.listedAt == c.w.now && len(cl.hints.preferred) > 0 && due <= c.w.now && c.w.now-max(due, c.w.dozedAt) < tickLate
}

// dueBeforeServer: that listing is the first of this life of the server, without which there was
// none to serve the proposal (seed 99695049).
func (c *checker) dueBeforeServer(cl *claim) bool {
	return c.dueBeforeList(cl) && c.firstAt == c.w.now
}

// refuses: somebody will not serve a proposal, or is gone.
func (c *checker) refuses(who string, ids []string) {
	for _, cl := range c.order {
		if cl.offer() && cl.proc == c.proc.number && (ids == nil || slices.Contains(ids, cl.id)) {
			if cl.refusing == nil {
				cl.refusing = map[string]bool{}
			}
			cl.refusing[who] = true
		}
	}
}

// unserved: nobody was there for a request of this id, which says nothing of who is.
func (c *checker) unserved(s *said) {
	for _, cl := range c.order {
		r := cl.lentTo
		if cl.offer() && slices.Contains(s.corr, r.id) && r.of != r.by && (!c.w.here[r.of] || c.absences[r.of] != nil && c.absences[r.of].gone) {
			cl.returns = true
		}
	}
}

// turnedDown: somebody says that a request is not done.
func (c *checker) turnedDown(s *said) {
	for _, cl := range c.order {
		r := cl.lentTo
		alone := c.used[r.by+" "+r.id] < 2 && c.used[cl.from+" "+r.id] < 2
		if alone && cl.offer() && r.id != "" && slices.Contains(s.corr, r.id) && r.of == s.from && (slices.Contains(s.to, r.by) || slices.Contains(s.to, cl.from)) {
			cl.returns = true
		}
	}
}

// goesAway: whoever took something may not do it.
func (c *checker) goesAway(who string) {
	for _, cl := range c.order {
		cl.returns = cl.returns || cl.lentTo.of == who
	}
}

// lured: somebody requests something of somebody else, and names proposals.
func (c *checker) lured(s *said) {
	c.used[s.from+" "+s.id]++
	for _, cl := range c.offersOf(s.corr) {
		if !cl.sameAs(s) || s.to[0] == nobody || !cl.ableToServe(s.to[0]) {
			continue
		}
		cl.rivalled = true
		cl.lend(s)
		cl.excuse("it was requested of somebody else")
	}
}
