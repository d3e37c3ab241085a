package sim

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// The reference model of last words (RELIABILITY 4.2): which refusals a call may
// end with, by nothing but what was seen from the outside. What the server says
// is held by other rules (I8, I10); what is not here no call may end with.

// A refusal may be the last word to a claim if this is so.
type refusalRule func(c *checker, cl *claim) bool

// refusals are the codes of DESIGN section 9, and when each of them is true.
var refusals = map[int]refusalRule{
	-32600: (*checker).mayBeWrong,
	-32601: func(c *checker, cl *claim) bool { return !cl.perfect || cl.asks && c.everNever(cl) },
	-32602: (*checker).mayBeWrong,
	-31001: func(c *checker, cl *claim) bool {
		return cl.noes > 0 || cl.modified || c.revokedNow[cl.byGrant]
	},
	-31002: (*checker).mayBeLate,
	-31003: (*checker).mayHaveNobody,
	-31004: (*checker).mayBeDenied,
	-31005: func(c *checker, cl *claim) bool { return c.mayBeTooMuch(cl) || c.mayBeFull(cl) || c.wonInQuiet(cl) },
	-31006: func(c *checker, _ *claim) bool { return c.proc.stopping || c.proc.leaving }, // nobody told it to stop whose server never came up (seed 70033675)
	-31007: func(c *checker, cl *claim) bool {
		return !c.w.server.alive || max(c.w.server.upAt, c.notTakenAt) >= cl.heardAt || c.listedLife != c.w.server.life || c.listedLate || c.notReadAgain(cl) || c.dueBeforeServer(cl)
	},
	-31008: func(_ *checker, cl *claim) bool { return cl.started },
	-31009: func(c *checker, cl *claim) bool { return c.w.log.failedSince(cl.heardAt) },
	-31010: func(c *checker, cl *claim) bool {
		return cl.started && (c.proc.stopping || c.w.now-cl.since >= callTime)
	},
	-31011: func(c *checker, cl *claim) bool {
		return (cl.method == "tools/call" || cl.method == planMethod) && (cl.question != "" && c.mayHaveChanged(cl) || c.listedLate)
	},
	-31012: func(c *checker, cl *claim) bool {
		return cl.takenBackAt > 0 && cl.shown || slices.ContainsFunc(c.mayBeKnown(cl.corr), func(of *claim) bool { return of.takenBackAt > 0 || of.proposerGone || of.cancelled || of.over })
	},
	-31013:      func(_ *checker, cl *claim) bool { return cl.huge || !cl.perfect },
	whileHalted: func(c *checker, _ *claim) bool { return c.halted() },
	-31014: func(c *checker, cl *claim) bool {
		return c.mayBeTakenUnread(cl) || slices.ContainsFunc(c.order, func(of *claim) bool {
			return of != cl && of.proc == cl.proc && cl.forTheSameAs(of) && (of.question != "" || of.allowed || of.started || of.rivalled || of.answered)
		})
	},
}

// forTheSameAs: another claim is the proposal that this request names, or a
// request that names the same.
func (cl *claim) forTheSameAs(of *claim) bool {
	return of.offer() && slices.Contains(cl.corr, of.id) || slices.ContainsFunc(of.corr, func(id string) bool { return slices.Contains(cl.corr, id) })
}

// rejectWords are the words for a proposal that is not served, as such codes
// (WIRE 7.8).
var rejectWords = map[string][]int{"incapable": {-32601, -32602, -31007}, "invalid": {-32600, -32602}, "policy": {-31003, -31004},
	"busy": {-31005, -31006, -31015}, "resource_limit": {-31013}, "disagree": {-31001}, "timeout": {-31002}, "other": {-31001, -31009, -31011}}

// refused holds a refusal against the model when the bridge says that it makes
// it: that it is told may take long.
func (c *checker) refused(cl *claim, r record.Record) {
	switch {
	case r.Event != record.Rejected && r.Event != record.Ended: // of which the log makes "rejected" or "ended"
	case c.unreads[cl.key()] > 0 && c.notKnown(cl): // this is a frame of its id that can be read in two ways
	case cl.offer() && !cl.started && r.Event == record.Rejected:
		c.lastReject(cl, r.Reason, r.Detail)
	case r.Code != 0 && r.Executed != "yes":
		c.lastWord(cl, r.Code)
	}
}

func (c *checker) lastWord(cl *claim, code int) {
	if rule := refusals[code]; rule == nil || !rule(c, cl) {
		c.blame("last word", "%v is refused with %d, and nothing that was seen is a reason", cl, code)
	}
	if (code == busy || (code == stoppingNow || code == whileHalted) && c.serverKnown()) && c.forbidden(cl) {
		c.blame("S4", "%v is refused with %d, as if it were worth another try, and the policy denies it", cl, code)
	}
}

// serverKnown: the server runs, and the bridge knows its tools; without that nothing is
// judged, and who stops says so instead.
func (c *checker) serverKnown() bool {
	return c.w.server.alive && c.listedLife == c.w.server.life && !c.listedLate && !c.proc.gaveUp
}

// forbidden: all policies since a claim was heard deny it, so that there is no use in
// coming again.
func (c *checker) forbidden(cl *claim) bool {
	return cl.perfect && !cl.unkept && !c.everWay(cl, func(w way) bool { return w.verdict != deny })
}

func (c *checker) lastReject(cl *claim, word, detail string) {
	codes, known := rejectWords[word]
	if word == "busy" && c.serverKnown() && !c.dueBeforeList(cl) && c.forbidden(cl) {
		c.blame("S4", "%v is rejected as busy, as if it were worth another try, and the policy denies it", cl)
	}
	switch {
	case word == "duplicate" && (cl.shown || c.proposedTwice(cl)), word == "busy" && cl.contested() && (c.awaySince(cl) || c.claimLost(cl)), word == "busy" && c.quietTill >= cl.heardAt:
	case !known || !slices.ContainsFunc(codes, func(code int) bool { return refusals[code](c, cl) }):
		c.blame("last word", "%v is rejected as %q (%s), and nothing that was seen is a reason", cl, word, detail)
	}
}

// proposedTwice: its proposer has proposed the same in another proposal.
func (c *checker) proposedTwice(cl *claim) bool {
	return slices.ContainsFunc(c.order, func(of *claim) bool {
		return of.offer() && of != cl && of.proc == cl.proc && of.from == cl.from && content(of.method, of.tool, of.args, of.beside) == content(cl.method, cl.tool, cl.args, cl.beside)
	})
}

// mayBeWrong: there is no such tool, or none in the list before, where the last came too
// late to be taken (seed 43224); or it takes no such arguments.
func (c *checker) mayBeWrong(cl *claim) bool {
	_, listed := c.versions[cl.tool]
	return cl.flaw != "" || !cl.perfect || (cl.method == "tools/call" || cl.method == planMethod) && (!listed || c.listedLate)
}

// mayBeDenied: a policy denies it; or its tool has changed, and a policy pins
// tools: with block none that has changed is called, with ask none on a decision
// of before.
func (c *checker) mayBeDenied(cl *claim) bool {
	rechecked := cl.allowed && slices.ContainsFunc(c.booksSince(cl), func(b *rulebook) bool { // those who agreed are not enough any more
		return c.held(cl, b).verdict == ask && !reflect.DeepEqual(c.held(cl, b), cl.terms(cl.book))
	})
	pinned := slices.ContainsFunc(c.booksSince(cl), func(b *rulebook) bool { return b.pin == "block" || b.pin == "ask" && cl.allowed })
	switch {
	case rechecked, !slices.Contains([]string{"tools/call", reads}, cl.method) && !cl.perfect: // what policies say of such methods is not known here
		return true
	case pinned && (cl.method == "tools/call" || cl.method == planMethod) && c.changed(cl.tool):
		return true
	}
	return c.everWay(cl, func(w way) bool { return w.verdict == deny })
}

// mayBeLate: people took too long, or what they agreed to could not be started; or the
// time that a proposer gave is over.
func (c *checker) mayBeLate(cl *claim) bool {
	return c.tookTheirTime(cl) || c.timeOver(cl) || slices.ContainsFunc(c.mayBeKnown(cl.corr), c.timeOver) || c.mayBeUnread(cl.corr) || !cl.perfect
}

func (c *checker) tookTheirTime(cl *claim) bool {
	waited := c.w.now - cl.heardAt - c.stood(cl.heardAt, c.w.now) // what is on record of the question may have been written late, after a sleep
	turn, asks := c.shortestTurn(cl)
	late := asks && waited >= turn || cl.allowed && waited >= startWithin
	return cl.question != "" && late
}

// timeOver: a proposal is wanted no more, by what its proposer said.
func (c *checker) timeOver(cl *claim) bool { return cl.ttl > 0 && c.w.now >= cl.until() }

// until is till when a proposal is wanted, as it is on the wire.
func (cl *claim) until() time.Duration { return cl.heardAt + cl.ttl.Truncate(time.Millisecond) }

// timeLeft is how much of that there was when a claim was heard.
func (c *checker) timeLeft(cl *claim) time.Duration {
	left := time.Duration(math.MaxInt64)
	for _, of := range append(c.offersOf(cl.corr), cl) {
		if of.ttl > 0 {
			left = min(left, of.until()-cl.heardAt)
		}
	}
	return left
}

// shortestTurn is the least time that anybody may have had to decide about a
// claim: the shortest within of the policies since, or what a proposer left of it,
// shared by as many as the longest sequence among them has; false if none of them asks.
func (c *checker) shortestTurn(cl *claim) (least time.Duration, asks bool) {
	turns := 1
	for _, w := range c.waysHeld(cl) {
		if w.verdict != ask {
			continue
		}
		if within := min(w.within, c.timeLeft(cl)); !asks || within < least {
			least, asks = within, true
		}
		if w.sequential {
			turns = max(turns, len(w.of))
		}
	}
	return least / time.Duration(turns), asks
}

// waysHeld are how the policies since may have had a claim decided. Where a listing comes at this
// moment, what was due before is judged without it (seed 99320815).
func (c *checker) waysHeld(cl *claim) (all []way) {
	for _, b := range c.booksSince(cl) {
		all = append(all, c.held(cl, b))
		if c.listedAt == c.w.now {
			all = append(all, cl.terms(b))
		}
	}
	return all
}

// mayHaveNobody: too few of those who may decide are there, or were all the time.
func (c *checker) mayHaveNobody(cl *claim) bool {
	if cl.question == "" {
		return false
	}
	w := c.offered(cl)
	disturbed := cl.erred || len(c.booksSince(cl)) > 1 || c.awaySince(cl) || c.w.link.fullAt >= cl.heardAt || c.tookTheirTime(cl) || c.someoneWent(cl)
	return disturbed || c.w.o.unverified() || !c.answerable(cl, w) || cl.noes > 0
}

// someoneWent: somebody who decides has gone since a claim was heard, or is not here.
func (c *checker) someoneWent(cl *claim) bool {
	return slices.ContainsFunc(deciders, func(id string) bool {
		a := c.absences[id]
		return c.unlisted[id] || a != nil && (a.is() || max(a.goneAt, a.backAt) >= cl.heardAt)
	})
}

// mayBeTooMuch: there are more calls or questions than there may be at one time,
// or people have said no to the caller about the tool thrice.
func (c *checker) mayBeTooMuch(cl *claim) bool {
	running, hanging, asking, lately := 0, 0, 0, max(cl.times-1, 0)
	for _, other := range c.order {
		if other.proc != cl.proc || other == cl {
			continue
		}
		if other.line != nil && !other.line.said {
			hanging++
		}
		if other.open() || other.line != nil && other.line.runs == 0 {
			running++
		}
		if c.shareOf(other.from) != c.shareOf(cl.from) || other.times == 0 {
			continue
		}
		if c.w.now-other.askedAt <= time.Minute {
			lately += other.times
		}
		if other.asking() {
			asking++
		}
	}
	return running >= c.w.o.MaxCalls || hanging >= 4*c.w.o.MaxCalls || asking >= 8 || lately >= 10 || c.inARow(cl) >= refusedInARow || c.notTakenAt >= cl.heardAt
}

// longestPause is for how long anybody can silence the bridge.
const longestPause = 5 * time.Minute

// wonInQuiet: our claim on a proposal was out, and before it came first somebody asked us
// to be quiet (seed 423283).
func (c *checker) wonInQuiet(cl *claim) bool {
	return cl.offer() && cl.shown && !cl.started && c.quietTill >= max(cl.shownAt, cl.heardAt)
}

// quiets: a frame tells the bridge to be quiet, or may do so, where the attacker has
// changed it; or that it need be no more.
func (c *checker) quiets(f *frame) {
	switch {
	case f.said.kind == wire.Control && f.said.method == "participant/resume":
		c.quietTill = min(c.quietTill, c.w.now)
	case bytes.Contains(f.raw, []byte(`"participant/pause"`)):
		c.quietTill = c.w.now + longestPause
	}
}
