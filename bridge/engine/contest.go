package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/replay"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A proposal that others may serve as well is served by one (DESIGN 8). Our
// request to ourselves is the claim, and the room's order decides: it must have
// come back to us before we have seen anybody else's.
//
//	start -> contend: the claim goes out -> its echo -> wins -> allowed, agreed -> start
//	                                     -> another's came first -> yields
//	                                     -> claimWindow is over: this gateway returns nothing,
//	                                        and who comes first is settled by who it is
//
// A proposal that nobody but we may serve needs none of that and starts at once.

const (
	// claimWindow is how long the echo of a claim, or another's claim, is waited for
	// at a gateway that has returned none yet.
	claimWindow = 2 * time.Second

	// claimPatience is the same at one that has. A claim that does not come back
	// there was seen by nobody, and is given up.
	claimPatience = 10 * time.Second
)

// announceClaim lets everybody see that we would serve a proposal.
func (e *Engine) announceClaim(c *inflight.Call) {
	switch {
	case c.Life.Missed || !e.room.seated:
		e.unstarted(c, unclaimed("the link to the gateway was lost, and somebody else may have served this meanwhile"))
	case e.room.paused != nil:
		e.unstarted(c, refusal.Busy("the bridge was asked to pause"))
	case !e.book.Contends(c.Life):
		e.unstarted(c, e.closedBy(c.Life))
	default:
		c.On(inflight.Claim)
		c.Self, c.Standing = e.newID(), inflight.Claimed
		c.ID = jsonrpc.AppendQuote(nil, c.Self)
		e.offers.claims[c.Self] = c
		e.requestOurselves(c)
		e.awaitEcho(c)
	}
}

// claimLeaves: perhaps after it was held, so that the window begins now. From now on
// the proposer may see it, and hears of it when nothing comes of it.
func (e *Engine) claimLeaves(id string) {
	if c := e.offers.claims[id]; c != nil {
		c.ToldBefore, c.Standing, c.Life.Announced = c.Life.Announced, inflight.Seen, true
		e.awaitEcho(c)
	}
}

// claimReturns: the way out was full, so nobody has seen it (seed 40085).
func (e *Engine) claimReturns(id string) {
	if c := e.offers.claims[id]; c != nil && c.Standing == inflight.Seen {
		c.Standing, c.Life.Announced = inflight.Claimed, c.ToldBefore
	}
}

func (e *Engine) awaitEcho(c *inflight.Call) {
	window := claimWindow
	if c.Patient = e.room.echoes; c.Patient {
		window = claimPatience
	}
	e.alarms.stop(c.Alarm)
	e.offers.unechoed = slices.DeleteFunc(e.offers.unechoed, func(o *inflight.Call) bool { return o == c })
	c.Alarm = e.alarms.set(e.now.Add(window), func() { e.offers.unechoed = append(e.offers.unechoed, c) })
}

// echoed: a frame of our own has come back. It reports whether it is a claim. Any request
// of ours shows that the gateway returns them (seed 302244).
func (e *Engine) echoed(env *wire.Envelope) bool {
	c := e.offers.claims[env.ID]
	if env.Kind != wire.Request || !e.forUs(env) {
		return false
	}
	e.room.echoes = e.room.echoes || c != nil || e.book.ByItself(e.room.me, env.ID)
	if c == nil {
		return false
	}
	if c.Rival != nil {
		e.yields(c)
	} else {
		e.wins(c)
	}
	return true
}

// unechoed: nothing has come back in time.
func (e *Engine) unechoed(c *inflight.Call) {
	switch {
	case c.Phase != inflight.Claiming:
	case e.room.held.Delays([]string{c.Self}):
		e.awaitEcho(c) // it has not even left
	case e.room.echoes && !c.Patient:
		e.awaitEcho(c) // one has come back since, so this may need its time (seed 401554)
	case e.room.echoes:
		e.endClaim(c)
		e.unstarted(c, unclaimed("the gateway has lost the request that shows who serves this"))
	case c.Rival != nil && (c.RivalEnd != nil || c.Life.Before(c.Rival.By, e.room.me)):
		e.yields(c)
	default:
		e.wins(c)
	}
}

// rivals notes that somebody else claims what we do, and may, before our claim has come
// back. It reports false where that settles it already (seed 7500004357).
func (e *Engine) rivals(c *inflight.Call, r proposal.Run) bool {
	if e.room.echoes || c.Phase != inflight.Claiming || r.By != r.Runner || !c.Life.MayServe(r.Runner) {
		return false
	}
	if c.Rival == nil || c.Life.Before(r.By, c.Rival.By) {
		c.Rival, c.RivalEnd = &r, nil
	}
	return true
}

// rivalAnswers notes that another has done what they claim, where ours has not come back
// yet: it is not to be done again, also when they are gone. That they refuse says nothing:
// it may be of another request under the same id, which anybody can make of them.
func (e *Engine) rivalAnswers(env *wire.Envelope) {
	for _, c := range e.offers.claims {
		r := c.Rival
		if r == nil || r.Runner != env.From || !slices.Contains(env.Corr, r.ID) || !slices.Contains(env.To, r.By) && !slices.Contains(env.To, c.Life.Proposer) {
			continue
		}
		if how := upshot(&env.Message); how != proposal.Unserved {
			c.RivalEnd = &how
		}
	}
}

func (e *Engine) wins(c *inflight.Call) {
	e.alarms.stop(c.Alarm)
	delete(e.offers.claims, c.Self)
	c.On(inflight.Resume)
	// Nobody else has to hear of it: we make the request ourselves.
	if _, ok := e.book.Started(c.Life, proposal.Run{ID: c.Self, By: e.room.me, Runner: e.room.me}); !ok {
		e.unstarted(c, e.closedBy(c.Life))
		return
	}
	c.Standing = inflight.Won
	e.sendStatus(c.Life, "accept", "processing", "")
	if c.Agreed != nil {
		e.agreed(c)
	} else {
		e.allowed(c)
	}
}

// yields leaves a proposal to whoever came first.
func (e *Engine) yields(c *inflight.Call) {
	rival, end := *c.Rival, c.RivalEnd
	e.queueBook(e.book.Taken(c.Life, rival)) // which ends the call as moot
	if end != nil {
		e.then(func() { e.queueBook(e.book.Ended(c.Life, rival.ID, *end)) })
	}
}

// endClaim: it leaves no more, if it has not yet.
func (e *Engine) endClaim(c *inflight.Call) {
	e.alarms.stop(c.Alarm)
	delete(e.offers.claims, c.Self)
	e.room.held.Drop(c.Self)
}

// cameSecond tells the proposer, who has seen our claim, that it is none any more.
func (e *Engine) cameSecond(c *inflight.Call) {
	l := c.Life
	detail := "already_taken: the request of " + l.By + " came first"
	r := about(l)
	r.Event, r.Reason, r.Detail, r.State, r.By, r.Call = record.Rejected, proposal.Duplicate, detail, "told", []string{l.By}, c.Name
	e.note(r)
	e.sendStatus(l, "reject", "unable", proposal.Duplicate)
	e.reject(l, proposal.Duplicate, detail)
}

// claimsLost: with the seat, nobody knows any more whose claim came first.
func (e *Engine) claimsLost() {
	inTurn(e, sorted(e.offers.claims), func(id string) {
		c := e.offers.claims[id]
		e.endClaim(c)
		e.unstarted(c, unclaimed("the link to the gateway was lost before it was known whose request came first"))
	})
}

// unclaimed is for a proposal of which nobody can tell whether another serves it.
func unclaimed(why string) refusal.Refusal {
	return refusal.Refusal{Code: refusal.CodeBusy, Reason: "unclaimed", Executed: refusal.No, Retryable: true, Message: why}
}

// mayTake reports whether somebody is there to serve what is requested of them.
func (e *Engine) mayTake(runner, by string) bool {
	return runner != "" && (runner == by || e.room.peers[runner] != nil)
}

// upshot is what an answer says of the request it is for. Whoever says that it did
// not run it leaves it to others.
func upshot(m *jsonrpc.Message) proposal.Upshot {
	if Outcome(m) == "ok" {
		return proposal.Served
	}
	if !m.Has(jsonrpc.Err) {
		return proposal.Spoilt
	}
	code, executed := refusedWith(m.Get(jsonrpc.Err))
	unrun := []int{refusal.CodeInvalidRequest, refusal.CodeUnknownMethod, refusal.CodeInvalidParams}
	if executed == string(refusal.No) || slices.Contains(unrun, code) && executed == "" {
		return proposal.Unserved
	}
	return proposal.Spoilt
}

// refusedWith reads the code of a JSON-RPC error, and whether it says that it ran.
func refusedWith(raw []byte) (code int, executed string) {
	shape := jsonrpc.Shape{{Name: "code", Slot: 0}, {Name: "data", Slot: 1, Inside: jsonrpc.Shape{{Name: "executed", Slot: 2}}}}
	var at [3]jsonrpc.Span
	if jsonrpc.Scan(raw, jsonrpc.Passed, shape, at[:]) != nil {
		return 0, ""
	}
	executed, _ = jsonrpc.Unquote(raw[at[2].Start:at[2].End])
	code, _ = jsonrpc.ReadCode(raw[at[0].Start:at[0].End])
	return code, executed
}

// meantForUs: where the dialect allows it, a request without an addressee is
// made to the one participant its proposal is addressed to (WIRE W-9).
func (e *Engine) meantForUs(env *wire.Envelope, l *proposal.Life) bool {
	return l != nil && len(env.To) == 0 && l.Sole == e.room.me && e.room.dialect.OpenRequests()
}

// othersShare is how many requests made of others are known of one participant. Where
// it makes more, each counts for one of an id that was used before.
const othersShare = 1 << 14

// usesID takes down that a participant uses an envelope id for a request of others, or
// for a frame that we cannot read and others perhaps can; and says whether it was used
// before.
func (e *Engine) usesID(from, id string) proposal.Reuse {
	e.book.Requested(from, id)
	return proposal.Reuse{
		Same: e.others.Take(e.now, from, id, nil) != replay.Fresh || e.replay.Knows(e.now, from, id),
		Any:  e.others.Take(e.now, "", id, nil) != replay.Fresh,
	}
}

// observe notes that somebody requests a proposal of somebody else.
func (e *Engine) observe(env *wire.Envelope, l *proposal.Life, reused proposal.Reuse) {
	if l == nil {
		return
	}
	runner := ""
	switch {
	case len(env.To) == 1:
		runner = env.To[0]
	case len(env.To) == 0 && e.room.dialect.OpenRequests():
		runner = l.Sole
	}
	if !e.mayTake(runner, env.From) {
		e.drop(env, "nobody_there", "the proposal is requested of a participant who is not here, so it stays as it is")
		return
	}
	e.noteDifference(env, l)
	run := proposal.Run{ID: strings.Clone(env.ID), By: strings.Clone(env.From), Runner: strings.Clone(runner), Reused: reused}
	if by := l.Proposer; by != env.From && (e.others.Knows(e.now, by, env.ID) || e.replay.Knows(e.now, by, env.ID)) {
		run.Reused.Same = true
	}
	if c := e.offers.calls[l]; c == nil || !e.rivals(c, run) {
		e.queueBook(e.book.Taken(l, run))
	}
}

func (e *Engine) closedBy(l *proposal.Life) refusal.Refusal {
	switch e.book.Bars(l) {
	case proposal.BarExpired:
		return refusal.ProposalExpired(l.ID)
	case proposal.BarAlready:
		return refusal.AlreadyFulfilled(l.ID, l.Run)
	}
	return refusal.ProposalWithdrawn(l.ID)
}

// proposalEnds takes a withdrawal, or somebody else's reject.
func (e *Engine) proposalEnds(env *wire.Envelope) {
	end, err := env.Ending()
	if err != nil {
		e.drop(env, "proposal_ending_unreadable", err.Error())
		return
	}
	if env.Kind == wire.Reject {
		e.rejected(env)
		return
	}
	inTurn(e, env.Corr, func(of string) {
		if end.Lapsed {
			e.queueBook(e.book.Lapsed(env.From, of, refusal.Clip(end.Reason)))
		} else {
			e.queueBook(e.book.Withdrawn(env.From, of, refusal.Clip(end.Reason)))
		}
	})
}

// rejected takes somebody's word that they will not serve what it refers to.
func (e *Engine) rejected(env *wire.Envelope) {
	inTurn(e, env.Corr, func(of string) { e.queueBook(e.book.Rejected(env.From, of)) })
}

// stood takes what somebody else says of how it stands with a proposal. A no in such
// words is a no (FINDINGS S5).
func (e *Engine) stood(env *wire.Envelope) {
	if _, no := env.AsReject(); no {
		e.rejected(env)
	}
}

// proposerBehind is whose proposal a participant's request serves.
func (e *Engine) proposerBehind(c *inflight.Call) string {
	if c.Life == nil || c.Life.Proposer == c.From {
		return ""
	}
	return c.Life.Proposer
}

// interestIn is when nobody is interested in a proposal any more.
func (e *Engine) interestIn(c *inflight.Call) time.Time {
	if c.Origin == inflight.Proposal {
		return c.Life.Until
	}
	return time.Time{}
}

// isAsked: people are asked about a call that serves a proposal.
func (e *Engine) isAsked(c *inflight.Call) {
	switch {
	case c.Origin == inflight.Proposal:
		e.book.Asked(c.Life)
	case c.Life != nil:
		e.queueBook(e.book.Claimed(c.Life, proposal.Run{ID: c.Env, By: c.From, Runner: e.room.me}))
	}
}
