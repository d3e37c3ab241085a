package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Who knows the id of a proposal can name it in any request of anybody. That takes the
// proposal from us only if it is for the very same of somebody who is there and may
// serve it (FINDINGS M9).

// nobody is somebody who is never here.
const nobody = "eve"

// lures plans that somebody names a proposal in a request that is not made of us.
func (w *world) lures(of said) {
	d := newDice(w.o.Seed, "lure of "+of.id)
	for w.joins(lure, .4) {
		by := pick(d, w.callers()...)
		w.after(d.between(0, pick(d, 3*time.Second, 15*time.Second)), func() {
			if by.here {
				by.lure(d, of)
			}
		})
	}
}

func (p *person) lure(d dice, of said) {
	s := of
	s.id, s.from, s.kind, s.corr, s.ttl, s.hints, s.draft, s.lures = p.word("l"), p.id, wire.Request, []string{of.id}, 0, hints{}, false, true
	s.rpc = fmt.Append(nil, p.said)
	s.to = []string{pick(d, nobody, nobody, "bob", "carol")}
	if d.chance(.5) {
		s.tool = pick(d, tools...)
	}
	p.w.topic.send(p.w.topic.spell(s, s.payload()))
}

// lured: somebody requests something of somebody else, and names proposals.
func (c *checker) lured(s *said) {
	for _, cl := range c.offersOf(s.corr) {
		if !cl.sameAs(s) || s.to[0] == nobody || !cl.ableToServe(s.to[0]) {
			continue
		}
		cl.rivalled = true
		if cl.excused == "" {
			cl.excused = "it was requested of somebody else"
		}
	}
}

// ableToServe: a proposal may be served by a participant.
func (s *said) ableToServe(who string) bool {
	switch {
	case len(s.to) > 0:
		return slices.Contains(s.to, who)
	case s.hints.never:
		return slices.Contains(s.hints.preferred, who)
	}
	return true
}
