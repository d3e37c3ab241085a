package sim

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// begun and ended are the lives of the bridge.
func (c *checker) begun(l *life, b *rulebook) {
	c.proc, c.books = l, []*rulebook{b}
	lasting := c.lasting()
	c.forget()
	c.grants = lasting
}

func (c *checker) ended() {
	for _, cl := range c.order {
		if cl.proc == c.proc.number {
			cl.excuse("the bridge ended")
		}
	}
	c.proc = nil
}

// remembered: this is what the log knows when the bridge begins anew. What a
// power cut took from it may happen again.
func (c *checker) remembered(calls []*remnant) {
	for _, cl := range c.order {
		cl.recAt = time.Time{}
	}
	for _, r := range calls {
		if cl := c.claimOf(r.from, r.env); cl != nil && c.w.wall().Sub(cl.recAt) >= shortestKnown {
			cl.recAt = r.at
			if now := c.w.wall(); r.at.After(now) { // the clock was put back since
				cl.recAt = now
			}
		}
	}
}

// lasting are the grants that may outlast the bridge: those that the file can say,
// from where it is certain who asks.
func (c *checker) lasting() []grant {
	if c.w.o.unverified() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.grants), func(g grant) bool {
		return g.keep != "always" || !slices.Contains(g.vias, "request") && !slices.Contains(g.vias, "proposal")
	})
}

// restored: the file had these when the bridge began.
func (c *checker) restored(all []approval.Grant) {
	c.kept = map[string]time.Time{}
	for _, g := range all {
		c.kept[g.ID] = g.Made
	}
}
