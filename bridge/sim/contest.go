package sim

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Other bridges, that may serve the same proposals: each says so with a request to
// itself, and the order in which the gateway gives such requests to all is whose it is
// (DESIGN 8). What they make of it afterwards is not our matter.

// rivals: somebody would serve a proposal of their own accord.
func (s *said) rivals() bool {
	return s.kind == wire.Request && len(s.corr) == 1 && len(s.to) == 1 && s.to[0] == s.from && s.from != us
}

// rival plans that another bridge claims a proposal, about when ours does.
func (w *world) rival(of said) {
	d := newDice(w.o.Seed, "rival of "+of.id)
	if !of.contested() || !d.chance(.4) {
		return
	}
	other := pick(d, w.people...)
	w.after(d.between(0, pick(d, 10*time.Millisecond, 3*time.Second, 15*time.Second)), func() {
		if other.here() && other.id != of.from {
			other.claim(of)
		}
	})
}

func (p *person) claim(of said) {
	s := of
	s.id, s.from, s.to, s.kind, s.corr, s.ttl, s.hints, s.draft = p.word("c"), p.id, []string{p.id}, wire.Request, []string{of.id}, 0, hints{}, false
	s.rpc = []byte(`"` + s.id + `"`)
	p.w.topic.send(p.w.topic.spell(s, s.payload()))
}

// echoWait is how long a claim is waited for at a gateway that may return nothing.
const echoWait = 2 * time.Second

// echoPatience is how long one is waited for at a gateway that has returned one.
const echoPatience = 10 * time.Second

// surelyContested: whoever reads it finds that others may serve it as well.
func (s *said) surelyContested() bool { return len(s.to) == 0 && !s.hints.never }

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
		if cl.excused == "" {
			cl.excused = "another bridge serves it"
		}
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
