package sim

import (
	"bytes"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// unread sees a frame that the bridge's seat cannot read. A request of us, or a proposal,
// that can be read in two ways it may refuse in words, once for each time that it came, and
// do nothing else. All else it passes over, as if it had never come. What is proposed so all
// have seen, so that a request for it is one for a proposal.
func (c *checker) unread(f *frame) {
	if f.said.perfect {
		c.blame("must serve", "a frame that is right cannot be read: %s", f.raw)
	}
	s, ok := readTwofold(c.w.o.Protocol, f.raw)
	if ok && (s.offer() || s.kind == wire.Request && s.toUs()) {
		c.fills(&s)
		c.unreads[s.key()]++
		if s.offer() {
			c.twofold = append(c.twofold, s)
		}
	}
}

// proposedUnread: somebody has proposed what a request is for in a frame that can be read in
// two ways, and hears of its answer as any proposer does (seed 70059000).
func (c *checker) proposedUnread(cl *claim, who string) bool {
	return slices.ContainsFunc(c.twofold, func(of said) bool {
		return of.from == who && slices.Contains(cl.corr, of.id) && cl.sameAs(&of)
	})
}

// ambiguous reports whether a letter is no more than the word that a frame which
// could be read in two ways is refused, and takes note of it.
func (c *checker) ambiguous(l *letter) bool {
	if len(l.To) == 0 || len(l.Corr) != 1 {
		return false
	}
	if cl := c.claimOf(l.To[0], l.Corr[0]); cl != nil && c.w.now-cl.since < shortestKnown && c.known(cl) && !cl.unkept && !cl.spent {
		return false // what comes again then is dropped
	}
	of := envelopeKey{l.To[0], l.Corr[0]}
	full := c.mayHaveBeenFull(of.from)
	if e := l.Payload.Error; e == nil || e.Code != -32602 && !(e.Code == busy && full) || e.Data.Executed != "no" {
		return false
	}
	if c.unreads[of] <= 0 {
		return false
	}
	c.unreads[of]--
	return true
}

// ambiguousOffer reports whether a reject is of a frame that can be read in two ways
// and has the id of a proposal, and takes note of it. The frame came after the proposal
// may have been forgotten, or before it, and its reject has waited since (seed 93040307).
func (c *checker) ambiguousOffer(cl *claim, l *letter) bool {
	return (cl.spent || c.w.now-cl.since >= shortestKnown) && c.unreadOffer(l)
}

// mayBeUnread: what one of these ids proposes can be read in two ways, so that nobody can say
// when its time is over (seed 7300019273), be it that it was refused meanwhile (seed 98094336).
func (c *checker) mayBeUnread(ids []string) bool {
	return slices.ContainsFunc(c.twofold, func(of said) bool { return slices.Contains(ids, of.id) })
}

// mayBeTakenUnread: somebody else has requested what a frame proposes that can be read in two
// ways, and that a request is for (seed 50036585).
func (c *checker) mayBeTakenUnread(cl *claim) bool {
	return c.mayBeUnread(cl.corr) && slices.ContainsFunc(cl.corr, func(id string) bool {
		return slices.ContainsFunc(c.requesting[id], func(by envelopeKey) bool { return by != cl.key() })
	})
}

// unreadOffer reports whether a reject is of a frame that can be read in two ways, and
// takes note of it.
func (c *checker) unreadOffer(l *letter) bool {
	if len(l.To) != 1 || len(l.Corr) != 1 || !bytes.Contains(l.raw, []byte(`:"invalid"`)) {
		return false
	}
	of := envelopeKey{l.To[0], l.Corr[0]}
	if c.unreads[of] <= 0 {
		return false
	}
	c.unreads[of]--
	return true
}
