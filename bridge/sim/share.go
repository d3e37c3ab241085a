package sim

import (
	"fmt"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Each participant has a share of what is known again (FINDINGS M2): nobody's flood
// costs another anything, and what cannot be known again is not taken. Where nobody makes sure
// who speaks, all have one share.

// shareOf is who has the share of a participant.
func (c *checker) shareOf(who string) string {
	if c.w.o.unverified() {
		return "all"
	}
	return who
}

// fills: one more frame of somebody was heard. What asks us for something has to be known
// again, and what is broken may ask for something.
func (c *checker) fills(s *said) {
	asks := s.broken || s.offer() || s.kind == wire.Request && (s.toUs() || c.oursByProposal(s))
	if c.w.o.Share == 0 || !asks {
		return
	}
	for _, who := range []string{s.from, attackerName} { // what is broken may be of either
		if who != s.from && !s.broken {
			continue
		}
		fill := c.fill[c.shareOf(who)]
		if fill == nil {
			fill = map[envelopeKey]time.Duration{}
			c.fill[c.shareOf(who)] = fill
		}
		of := envelopeKey{who, s.id}
		if s.broken {
			of.env = fmt.Sprint(len(fill), " broken")
		}
		fill[of] = c.w.now
	}
}

// mayBeFull: so much is known of a caller that one more may be too much. What is
// surely forgotten leaves room.
func (c *checker) mayBeFull(cl *claim) bool {
	known := 0
	for of, heardAt := range c.fill[c.shareOf(cl.from)] {
		old := c.claims[of]
		if c.w.now-max(heardAt, c.w.dozedAt) < longestKnown || old != nil && !c.surelyForgotten(old) {
			known++
		}
	}
	return c.w.o.Share > 0 && known > c.w.o.Share
}

// mayHaveBeenFull: so much was heard of a caller that one more may have been too much
// at some time; what is said of it may have waited since.
func (c *checker) mayHaveBeenFull(who string) bool {
	return c.w.o.Share > 0 && len(c.fill[c.shareOf(who)]) > c.w.o.Share
}

// ofShare sees that something is not taken because it could not be known again.
func (c *checker) ofShare(cl *claim, r record.Record) {
	full := r.Event == record.Dropped && r.Reason == "share_full" || r.Event == record.Ended && r.Code == busy && r.Call == "" && c.w.o.Share > 0
	switch {
	case !full || cl == nil || cl.name != "" || cl.answers > 0 && c.unreads[cl.key()] > 0:
	case !c.mayBeFull(cl):
		c.blame("M2", "%v is not taken as one too many of %s, who has said so little", cl, cl.from)
	default:
		cl.unkept = true
		if cl.offer() {
			cl.excuse("its proposer has said too much")
		}
	}
}

// inShare: something is taken, so it can be known again.
func (c *checker) inShare(cl *claim, r record.Record) {
	if c.w.o.Share == 0 || r.Event != record.Asked && r.Event != record.Decided {
		return
	}
	taken := map[string]bool{}
	for _, other := range c.order {
		before := other.order < cl.order && c.shareOf(other.from) == c.shareOf(cl.from) && other.proc == cl.proc
		if before && other.name != "" && cl.heardAt-other.heardAt < shortestKnown {
			taken[other.from+" "+other.id] = true
		}
	}
	if delete(taken, cl.from+" "+cl.id); len(taken) >= c.w.o.Share {
		c.blame("M2", "%v is taken, though its caller has had %d taken lately, and no more can be known again", cl, len(taken))
	}
}
