package sim

import (
	"bytes"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// heard sees a frame that the bridge is about to get.
func (c *checker) heard(f *frame) {
	s := &f.said
	if !s.broken {
		c.seen(s.from)
	}
	c.fills(s)
	c.quiets(f)
	if s.kind == wire.Request {
		for _, id := range s.corr {
			c.requesting[id] = append(c.requesting[id], s.key())
		}
	}
	switch {
	case s.broken:
		c.mayBeNo(f.raw)
	case s.from == us:
		c.cameBack(s)
	case s.kind == wire.Failure:
		c.unserved(s)
	case s.turns:
		c.turnedDown(s)
	case s.lures:
		c.lured(s)
	case s.rivals():
		c.rivalled(s)
	case s.kind == wire.Request:
		c.concerns(s)
		c.request(s)
	case s.kind == wire.Proposal:
		c.proposed(s)
	case s.kind == wire.Withdraw:
		c.withdrawn(s)
	case s.kind == wire.Reject:
		c.refuses(s.from, s.corr)
	case s.kind == wire.Response:
		c.concerns(s)
		c.vote(s)
	case s.kind == wire.Notification && s.method == "notifications/cancelled":
		c.cancel(s)
	case s.kind == wire.Presence && s.method == "join":
		c.seen(s.tool)
		delete(c.unlisted, s.tool)
		c.void(func(a *asked) bool { return a.to == s.tool })
	case s.kind == wire.Presence && s.method == "leave":
		c.absent(s.tool, true, false) // not by the bridge's own word, which would excuse it
		c.leaves(s.tool)
		c.unlisted[s.tool] = true // until they join, whatever they say; but for what they say at once, which is passed over here
	}
}

// request takes a request into the books, unless it was heard before.
func (c *checker) request(s *said) {
	if s.toUs() || c.oursByProposal(s) {
		c.enter(s)
	}
}

// enter takes what is asked for into the books; nil if it was heard before.
func (c *checker) enter(s *said) *claim {
	if old := c.claims[s.key()]; old != nil && !old.unkept {
		if old.proc == c.proc.number && (c.w.now-old.since < shortestKnown || old.waits()) {
			old.again = c.w.now-old.since >= shortestKnown || old.mayBePassedOver()
			return nil
		}
		if old.proc != c.proc.number && !old.recAt.IsZero() && c.w.clock(c.proc).Sub(old.recAt) < shortestKnown {
			return nil
		}
	}
	cl := &claim{said: *s, proc: c.proc.number, heardAt: c.w.now, since: c.w.now, expect: s.args, grants: s.uses}
	c.judgedByNow(cl)
	cl.vias, cl.earlier = c.viasOf(cl), c.claims[s.key()]
	switch {
	case !s.perfect:
		cl.excused = "it was made by the attacker"
	case cl.earlier != nil && !(cl.earlier.unkept && cl.earlier.proc == c.proc.number) && !c.surelyForgotten(cl.earlier): // another life finds what it had refused on record, and knows it
		cl.excused = "it was made before, and may be remembered for longer than it must"
	}
	if n, spent := c.unreads[s.key()]; spent {
		cl.spent = n > 0
		cl.excuse("its id was used for a frame that could be read in two ways")
	}
	cl.order = len(c.order)
	c.claims[s.key()] = cl
	c.order = append(c.order, cl)
	return cl
}

func (c *checker) seated(here []wire.Participant) {
	for _, id := range everybody {
		listed := slices.ContainsFunc(here, func(h wire.Participant) bool { return h.ID == id })
		switch _, already := c.missing[id]; {
		case listed:
			delete(c.missing, id)
		case !already:
			c.missing[id] = c.w.now
		}
		if !listed {
			c.refuses(id, nil)
		}
		c.unlisted[id] = !listed
		c.absent(id, !listed, false)
	}
}

func (cl *claim) callerLeft() {
	if cl.answers == 0 {
		cl.excuse("its caller left")
	}
}

func (c *checker) leaves(id string) {
	c.goesAway(id)
	c.refuses(id, nil)
}

// countsAsGone: the bridge waits for somebody no more, who has left. Up to then they are
// owed their answers.
func (c *checker) countsAsGone(id string) {
	for _, cl := range c.order {
		if cl.from == id {
			cl.callerLeft()
			cl.proposerGone = cl.offer()
		}
	}
}

// cancel: the caller takes back a call; of several with one id all of them.
func (c *checker) cancel(s *said) {
	if len(s.to) != 1 || s.to[0] != us || s.ref == nil {
		return
	}
	for _, cl := range c.order {
		if cl.proc != c.proc.number || cl.from != s.from || !bytes.Equal(cl.rpc, s.ref) || !cl.open() {
			continue
		}
		cl.excuse("its caller took it back")
		cl.cancelled = cl.cancelled || !cl.started && cl.name != "" && len(s.corr) == 0
		cl.tookBack = true
		if len(s.corr) == 0 {
			c.moot(cl)
		}
	}
}

// proposed takes a proposal into the books.
func (c *checker) proposed(s *said) {
	if cl := c.enter(s); cl != nil && (!cl.targeted() || cl.hints.mute) {
		cl.excuse("it is not for us, or wants no answer")
	}
}

func (c *checker) stopping() { c.stop = true }
