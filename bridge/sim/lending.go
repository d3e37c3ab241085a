package sim

import "slices"

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
