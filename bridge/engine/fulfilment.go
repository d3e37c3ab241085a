package engine

import (
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/replay"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// What others make of a proposal: they request it, of us or of each other, take
// it back, or refuse it.

// linked finds the proposal that a request refers to.
func (e *Engine) linked(env *wire.Envelope) *proposal.Life {
	if len(env.Corr) == 0 || !e.book.Knows(env.Corr) {
		return nil
	}
	return e.book.Linked(env.Corr, env.Method, env.Key, sumOf(env))
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
		e.live(e.book.Taken(l, run))
	}
}

// barredBy says why a request must not run for the sake of its proposal.
func (e *Engine) barredBy(l *proposal.Life) (refusal.Refusal, bool) {
	if l == nil || e.book.Bars(l) == proposal.Open {
		return refusal.Refusal{}, false
	}
	return e.barred(l), true
}

func (e *Engine) barred(l *proposal.Life) refusal.Refusal {
	switch e.book.Bars(l) {
	case proposal.BarExpired:
		return refusal.ProposalExpired(l.ID)
	case proposal.BarAlready:
		return refusal.AlreadyFulfilled(l.ID, l.Run)
	}
	return refusal.ProposalWithdrawn(l.ID)
}

// noteDifference: the request counts, whatever was proposed (WIRE 7.8).
func (e *Engine) noteDifference(env *wire.Envelope, l *proposal.Life) {
	if l == nil || l.Sum == sumOf(env) {
		return
	}
	e.note(record.Record{Event: record.ProposalDiff, Proposal: l.ID, Env: env.ID, From: env.From, Method: env.Method, Tool: refusal.Clip(toolOf(env)),
		Detail: "the request asks for something else than what was proposed"})
}

// proposalEnds takes a withdrawal, or somebody else's reject.
func (e *Engine) proposalEnds(env *wire.Envelope) {
	end, err := env.Ending()
	if err != nil {
		e.drop(env, "proposal_ending_unreadable", err.Error())
		return
	}
	if env.Kind == wire.Reject {
		for _, of := range env.Corr {
			e.live(e.book.Rejected(env.From, of))
		}
		return
	}
	for _, of := range env.Corr {
		if end.Lapsed {
			e.live(e.book.Lapsed(env.From, of, refusal.Clip(end.Reason)))
		} else {
			e.live(e.book.Withdrawn(env.From, of, refusal.Clip(end.Reason)))
		}
	}
}

// stood takes what somebody else says of how it stands with a proposal. A no in such
// words is a no (FINDINGS S5).
func (e *Engine) stood(env *wire.Envelope) {
	if _, no := env.AsReject(); no {
		for _, of := range env.Corr {
			e.live(e.book.Rejected(env.From, of))
		}
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
		e.live(e.book.Claimed(c.Life, proposal.Run{ID: c.Env, By: c.From, Runner: e.room.me}))
	}
}
