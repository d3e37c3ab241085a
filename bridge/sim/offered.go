package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// What the checker knows of proposals (WIRE 7.8): only their proposers take
// them back; what was taken back before it started never starts; and as long as
// one request for a proposal runs, or has come to a result, no other starts.

// concerns: somebody else has to do with a proposal from now on, and whoever
// made it need not hear of us.
func (c *checker) concerns(s *said) {
	for _, cl := range c.offersOf(s.corr) {
		if s.kind != wire.Request || cl.sameAs(s) {
			cl.excuse("somebody else saw to it")
		}
		cl.answered = cl.answered || s.kind == wire.Response && c.w.o.Protocol == "mew/v0.4" && s.from != cl.from && cl.ableToServe(s.from) && !readAnswer(s.result, way{}).failed // (seed 50040014)
	}
}

// ranFirst: a request that came before its proposal is for that where both waited for the server
// to come up. Whoever made the proposal need not hear of us then, unless nothing ran (seed 93190639).
func (c *checker) ranFirst(cl *claim, r record.Record) {
	if cl.offer() || !cl.started || r.Executed == "no" {
		return
	}
	for _, of := range c.offersOf(cl.corr) {
		if of.id == r.Proposal && of.order > cl.order && of.sameAs(&cl.said) {
			of.excuse("somebody else saw to it")
		}
	}
}

// withdrawn: its proposer takes a proposal back, which comes too late for what
// runs or has run.
func (c *checker) withdrawn(s *said) {
	for _, cl := range c.offersOf(s.corr) {
		if cl.from != s.from {
			continue
		}
		cl.excuse("its proposer took it back")
		cl.cancelled = cl.cancelled || cl.serves == nil || cl.serves.failed()
		cl.takenBackAt = cmp.Or(cl.takenBackAt, c.w.now)
	}
}

// failed: what started has come to nothing, so far as the record says.
func (cl *claim) failed() bool {
	return cl.executed == "no" || cl.executed == "yes" && cl.outcome != "ok" || cl.spoilt
}

// spoils: the record says that nothing came of what serves a proposal. Where its caller was told
// before that nobody knows, the server has said so since, or has not read it: then it never may.
func (c *checker) spoils(cl *claim) {
	switch {
	case cl == nil || cl.executed != "unknown":
	case cl.line != nil && cl.line.runs > 0:
		cl.spoilt = cl.spoilt || cl.line.spoilt
	case cl.line == nil || !c.w.server.alive || cl.line.life != c.w.server.life:
		cl.spoilt, cl.told = true, "no"
	}
}

// startsFor: something is to run for the sake of a proposal. Where several
// proposers use one id nobody can say which it is, and what is for another tool is for
// the sake of none (seed 424940).
func (c *checker) startsFor(cl *claim) {
	of := cl
	if !cl.offer() {
		all := c.offersOf(cl.corr)
		if len(all) != 1 || !all[0].sameAs(&cl.said) || c.w.now-all[0].heardAt > watchedAtLeast || all[0].order > cl.order {
			return // one that came before its proposal is a request as any other
		}
		of = all[0]
	}
	alone := len(c.offersOf([]string{cl.id})) == 1
	switch {
	case cl.offer() && alone && cl.surelyContested() && !cl.echoed && (!cl.shown || c.w.now-cl.shownAt < echoWait):
		c.blame("S3", "%v starts before anybody could know who claimed it first", cl)
	case cl.offer() && cl.lostTo != "" && alone:
		c.blame("S3", "%v starts, and %s was the first to say that it would serve it", cl, cl.lostTo)
	case of.cancelled || of.takenBackAt > 0 && of.serves != nil && of.serves.failed():
		c.blame("I6", "%v starts for %v, which its proposer took back", cl, of)
	case of.serves != nil && !of.serves.failed():
		c.blame("I3", "%v starts for %v, which %v serves already", cl, of, of.serves)
	}
	of.serves = cl
}

// ofOffer sees what the bridge says it does about proposals.
func (c *checker) ofOffer(cl *claim, r record.Record) {
	switch {
	case r.Event == record.Dropped && r.From == us:
		for _, own := range c.offersOf([]string{r.Env}) {
			own.excused = r.Reason
		}
	case r.Event == record.Dropped:
		for _, own := range c.order {
			if own.offer() && own.from == r.From && own.started && (own.self == "" || own.self == r.Env) {
				own.excused = r.Reason
			}
		}
	case cl == nil:
	case r.Event == record.Reopened && cl.mayBePassedOver(): // of a copy that had been taken by others, that would be on record (seed 50026644)
		c.claims[cl.key()] = cl.earlier
		c.comesBack(cl.earlier)
	case r.Event == record.Reopened:
		c.comesBack(cl)
	case r.Event == record.Unfulfilled:
		c.spoils(cl.serves)
	case r.Executed != "":
		cl.outcome, cl.executed, cl.refusedAs = r.Outcome, r.Executed, r.Code
		c.ranFirst(cl, r)
	case cl.offer() && (r.Event == record.Expired || r.Event == record.Left):
		c.mayEnd(cl, r.Event)
		cl.excuse(string(r.Event))
		cl.over = cl.over || !cl.started
	}
}

// knownStill: what comes again may be known for longer than it must. What is dropped for
// that, before anything else is on record of it, was not taken (seeds 4706, 40075228); of several
// that came, all but one are dropped (seed 25990).
func (c *checker) knownStill(cl *claim, r record.Record) {
	switch {
	case cl == nil:
	case r.Event == record.Reopened: // what was known before is
	case r.Event != record.Dropped:
		cl.noted = true
	case !cl.offer() && (cl.heardAt != c.w.now || !c.serverKnown() || cl.method != "tools/call"): // it may wait for the server, or be answered by the bridge itself, of which nothing is on record (seeds 493, 40081)
	case cl.earlier != nil && !cl.noted && !cl.again && (r.Reason == "duplicate_envelope" || r.Reason == "duplicate_id_different_body"):
		c.claims[cl.key()] = cl.earlier
	}
}

// mayEnd: the bridge lets go of a proposal only if its time is over, or if it is
// not ours to serve.
func (c *checker) mayEnd(cl *claim, how record.Event) {
	since := cl.heardAt
	if old := cl.earlier; old != nil && old.proc == cl.proc && !cl.noted {
		since = old.heardAt // this may be a copy of what is open (seed 5961)
	}
	switch {
	case !cl.perfect, c.unreads[cl.key()] > 0: // what came first under its id began its time
	case how == record.Expired && (cl.ttl == 0 || c.w.now-since < cl.ttl.Truncate(time.Millisecond)): // as it is on the wire
		c.blame("WIRE 7.8", "%v is said to be over after %v", cl, c.w.now-since)
	case how == record.Left && cl.targeted() && !c.everNever(cl):
		c.blame("WIRE 7.8", "%v is left to others, though it is for us", cl)
	}
}

// takesUp sees a request that the bridge makes of itself, for all to see.
func (c *checker) takesUp(l *letter) {
	all := c.offersOf(l.Corr)
	i := slices.IndexFunc(all, func(cl *claim) bool { return cl.mayShow(l.ID) })
	if i < 0 {
		c.blame("I1", "the bridge serves no proposal that it may: %s", l.raw)
		return
	}
	all[i].itself(l.ID)
	all[i].shown, all[i].shownAt = true, c.w.now
}

// mayShow: a proposal is served by this request, which leaves before its answer,
// though perhaps after its end where it was held; of one that was refused before
// it started there is none.
func (cl *claim) mayShow(id string) bool {
	refused := cl.executed == "no" && !cl.started
	return cl.allowed && !cl.shown && !refused && cl.answers == 0 && (cl.self == "" || cl.self == id)
}

// itself is the request by which a proposal is served, and answered.
func (cl *claim) itself(id string) { cl.self, cl.rpc = id, text(id) }

// rejects: the bridge will not serve a proposal, and says so once, to whoever
// made it and before anything has started.
func (c *checker) rejects(l *letter) {
	all := c.offersOf(l.Corr)
	i := slices.IndexFunc(all, func(cl *claim) bool { return len(l.To) == 1 && cl.from == l.To[0] })
	switch {
	case i >= 0 && c.ambiguousOffer(all[i], l), i < 0 && c.unreadOffer(l):
		return
	case i < 0:
		c.blame("I8", "a reject is for no proposal: %s", l.raw)
		return
	}
	cl := all[i].rejectedOf()
	if cl.answers++; cl.answers > 1 {
		c.blame("I5", "%v is rejected, and was answered before", cl)
	}
	if cl.started {
		c.blame("I10", "%v is rejected after it started", cl)
	}
	if (!cl.targeted() || cl.hints.mute) && !cl.shown { // who has seen that we would serve it hears that we do not
		c.blame("W-4", "%v is rejected, and was not addressed to us or wants no reject", cl)
	}
	cl.told = "no"
}

// rejectedOf is which of the proposals of one participant under one id a reject is
// of: an earlier one whose reject has waited for so long that it was forgotten. What has
// started waits for its answer, and the reject is of the newest if that was refused and its
// proposer has not heard (seed 91089093).
func (cl *claim) rejectedOf() *claim {
	untold := cl.executed == "no" && !cl.started && cl.answers == 0
	for old := cl.earlier; old != nil && old.proc == cl.proc; old = old.earlier {
		if old.answers == 0 && !old.dropped && old.done() && !(old.started && untold) {
			return old
		}
	}
	return cl
}

// requestedOfUs: somebody has requested a proposal of us.
func (c *checker) requestedOfUs(cl *claim) bool {
	return slices.ContainsFunc(c.order, func(other *claim) bool { return other.proc == cl.proc && slices.Contains(other.corr, cl.id) })
}

// comesBack: what somebody else took and did not do is ours to judge again, from the
// beginning. Who runs it in the end startsFor sees. What its proposer takes back in the
// very moment may have come back just before.
func (c *checker) comesBack(cl *claim) {
	c.spoils(cl.serves)
	if cl.lentTo.of != "" && !cl.returns && !cl.unclear && !c.requestedOfUs(cl) {
		c.blame("A9", "%v comes back from %s, who has not refused it", cl, cl.lentTo.of)
	}
	if cl.takenBackAt > 0 && cl.takenBackAt < c.w.now {
		c.blame("I6", "%v comes back, and its proposer took it back", cl)
	}
	if !cl.rivalled && !c.requestedOfUs(cl) {
		c.blame("WIRE 7.8", "%v comes back, and nobody had taken it", cl)
	}
	cl.question, cl.votes, cl.digests, cl.noes = "", nil, nil, 0
	cl.expect, cl.modified = cl.args, false // what somebody changed before that is judged no more (seeds 13992 and 14936)
	cl.allowed, cl.denied, cl.over, cl.refused, cl.shown, cl.self = false, false, false, false, false, ""
	c.judgedByNow(cl)
	cl.executed, cl.outcome, cl.refusedAs, cl.lostTo, cl.before, cl.echoed = "", "", 0, "", "", false
	cl.lentTo, cl.returns = run{}, false
}
