package engine

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/meta"
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
//	start -> claim -> announceClaim -> its echo -> wins -> startProposed, startOrPark -> start
//	                                -> another's came first -> yields
//	                                -> claimWindow is over: this gateway returns nothing,
//	                                   and who comes first is settled by who it is
//
// A proposal that nobody but we may serve needs none of that and starts at once.

// announceClaim lets everybody see that we would serve a proposal.
func (e *Engine) announceClaim(c *inflight.Call) {
	switch {
	case c.Life.Missed || !e.room.seated:
		e.refuseCall(c, unclaimed("the link to the gateway was lost, and somebody else may have served this meanwhile"))
	case e.room.paused != nil:
		e.refuseCall(c, refusal.Busy("the bridge was asked to pause"))
	case !e.book.Contends(c.Life):
		e.refuseCall(c, e.closedBy(c.Life))
	default:
		c.On(inflight.Claim)
		c.Self, c.Claim = e.newID(), inflight.Claimed
		c.ID = jsonrpc.AppendQuote(nil, c.Self)
		e.calls.Claiming[c.Self] = c
		e.requestOurselves(c)
		e.awaitEcho(c)
	}
}

// rivals notes that somebody else claims what we do, and may, before our claim has come
// back. It reports false where that settles it already (seed 7500004357), as it does where
// ours has not left: they have not seen it.
func (e *Engine) rivals(c *inflight.Call, r proposal.Run) bool {
	if e.room.echoes || c.Phase != inflight.Claiming || c.Claim != inflight.Seen || r.By != r.Runner || !c.Life.MayServe(r.Runner) {
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
	for _, c := range e.calls.Claiming {
		r := c.Rival
		if r == nil || r.Runner != env.From || !slices.Contains(env.Corr, r.ID) || !slices.Contains(env.To, r.By) && !slices.Contains(env.To, c.Life.Proposer) {
			continue
		}
		if how := resultOf(&env.Message); how != proposal.Unserved {
			c.RivalEnd = &how
		}
	}
}

// yields leaves a proposal to whoever came first.
func (e *Engine) yields(c *inflight.Call) {
	rival, end := *c.Rival, c.RivalEnd
	e.queueBook(e.book.Taken(c.Life, rival)) // which ends the call as moot
	if end != nil {
		e.then(func() { e.queueBook(e.book.Ended(c.Life, rival, *end)) })
	}
}

// cameSecond tells the proposer, who has seen our claim, that it is none any more.
func (e *Engine) cameSecond(c *inflight.Call) {
	l := c.Life
	first := cmp.Or(l.By, l.Runner) // who did it at once made no request
	detail := "already_taken: " + first + " came first"
	r := about(l)
	r.Event, r.Reason, r.Detail, r.State, r.By, r.Call = record.Rejected, proposal.Duplicate, detail, "told", []string{first}, c.Name
	e.note(r)
	e.sendStatus(l, "reject", "unable", proposal.Duplicate)
	e.reject(l, wire.Ending{Reason: proposal.Duplicate, Detail: detail})
}

// claimsLost: with the seat, nobody knows any more whose claim came first.
func (e *Engine) claimsLost() {
	inTurn(e, sorted(e.calls.Claiming), func(id string) {
		if c := e.calls.Claiming[id]; c != nil {
			e.refuseCall(c, unclaimed("the link to the gateway was lost before it was known whose request came first"))
		}
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

// resultOf is what an answer says of the request it is for. Whoever says that it did
// not run it leaves it to others.
func resultOf(m *jsonrpc.Message) proposal.Result {
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

// What others make of a proposal: they request it, of us or of each other, take
// it back, or refuse it.

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
	inTurn(e, env.Corr, func(of string) { e.queueBook(e.book.Rejected(env.From, env.To, of)) })
}

// stood takes what somebody else says of how it stands with a proposal. A no in such
// words is a no (FINDINGS S5).
func (e *Engine) stood(env *wire.Envelope) {
	if _, no := env.AsReject(); no {
		e.rejected(env)
	}
}

// noteDifference: the request counts, whatever was proposed (WIRE 7.8).
func (e *Engine) noteDifference(env *wire.Envelope, l *proposal.Life) {
	if l.Sum == contentSum(env) {
		return
	}
	e.note(record.Record{Event: record.ProposalDiff, Proposal: l.ID, Env: env.ID, From: env.From, Method: env.Method, Tool: refusal.Clip(toolOf(env)),
		Detail: "the request asks for something else than what was proposed"})
}

const proposalGone = "proposal_gone"

// claimReturns takes note that a claim did not leave, because the way out was full: nobody
// has seen it (seed 40085).
func (e *Engine) claimReturns(id string) {
	if c := e.calls.Claiming[id]; c != nil && c.Claim == inflight.Seen {
		c.Claim, c.Life.Announced = inflight.Claimed, c.ToldBefore
	}
}

// What a proposer hears of us beside the answer: that people decide, that we
// serve its proposal, or that we do not, and why.

// sendStatus tells a proposer how it stands with its proposal, in the words that it
// has asked for or uses itself, and that the gateway lets pass.
func (e *Engine) sendStatus(l *proposal.Life, response, status, reason string) {
	if l.WantsResponse {
		e.sendStanding(wire.ProposalResponse, l, wire.Standing{State: response, Reason: reason})
		return
	}
	if e.offers.status && (l.Targeted || response != "reject") {
		e.sendStanding(wire.Status, l, wire.Standing{State: status, Reason: reason})
	}
}

func (e *Engine) sendStanding(kind wire.Kind, l *proposal.Life, s wire.Standing) {
	env := &wire.Envelope{Kind: kind, To: []string{l.Proposer}, Corr: []string{l.ID}, Payload: s.Payload(), Style: l.Style}
	if _, err := e.room.dialect.Spelling(env, e.room.caps); err == nil && e.send(wire.Notice, env) {
		l.Announced = true
	}
}

// rejectionsMax is how many may wait for the gateway's complaint: it complains
// at once.
const rejectionsMax = 16

func (e *Engine) reject(l *proposal.Life, why wire.Ending) {
	env := &wire.Envelope{Kind: wire.Reject, To: []string{l.Proposer}, Corr: []string{l.ID}, Style: l.Style,
		Payload: why.Payload()}
	kind, _ := e.room.dialect.Spelling(env, e.room.caps)
	if !e.send(wire.Reply, env) {
		return
	}
	if len(e.offers.said) == rejectionsMax {
		e.offers.said = e.offers.said[1:]
	}
	e.offers.said = append(e.offers.said, rejection{env, kind})
}

// rejectAgain: the gateway lets a word not pass that it seemed to (WIRE W-4).
// The reject is said once more in the next words, and the refused ones are not
// used again.
func (e *Engine) rejectAgain(f wire.Fault) {
	for i := len(e.offers.said) - 1; i >= 0; i-- {
		r := e.offers.said[i]
		if !slices.Contains(f.Trigger, r.env.ID) && (len(f.Trigger) > 0 || f.AttemptedKind != r.kind) {
			continue
		}
		e.offers.said = append(e.offers.said[:i:i], e.offers.said[i+1:]...)
		e.room.caps = e.room.caps.Without(r.kind)
		again := *r.env
		again.ID = ""
		e.send(wire.Reply, &again)
		return
	}
}

// requestOurselves shows who serves a proposal, and with which parameters. Its
// echo runs nothing (WIRE W-9); it says whose request came first, where others may
// serve it as well.
func (e *Engine) requestOurselves(c *inflight.Call) {
	payload := asAgreed(c).AppendCall(nil, c.ID, c.Method)
	e.send(wire.Reply, &wire.Envelope{ID: c.Self, Kind: wire.Request, To: []string{e.room.me}, Corr: []string{c.Life.ID},
		Method: c.Method, Key: c.Key, Payload: payload})
}

// claim says, on the topic and in the Book, that a call serves its proposal
// from now on. It reports false where that is too late; then the caller has
// heard so.
func (e *Engine) claim(c *inflight.Call) bool {
	if c.Claim == inflight.Won {
		return true // it was said when it contended for it
	}
	if c.Origin == inflight.Proposal && c.Life.Contested {
		e.announceClaim(c)
		return false
	}
	run := proposal.Run{ID: c.Env, By: c.From, Runner: e.room.me, Here: true}
	if c.Origin == inflight.Proposal {
		run.ID, run.By = e.newID(), e.room.me
	}
	acts, ok := e.book.Started(c.Life, run)
	if !ok {
		r := e.closedBy(c.Life)
		e.refuseCall(c, r)
		return false
	}
	e.queueBook(acts)
	if c.Origin == inflight.Proposal {
		c.Self, c.Claim = run.ID, inflight.Won
		c.ID = jsonrpc.AppendQuote(nil, c.Self)
		e.sendStatus(c.Life, "accept", "processing", "")
		e.requestOurselves(c)
	}
	return true
}

// leave leaves a proposal to others that we could serve.
func (e *Engine) leave(l *proposal.Life) {
	delete(e.offers.calls, l)
	if e.policy.Proposals.Fulfil != "never" && !e.book.MayServe(l) && e.book.Tells(l) {
		l.Said, l.SaidBy = "", ""
		e.queueBook(e.book.Refuse(l, proposal.Policy, "not_addressed: "+e.room.me+" serves only what names it"))
		return
	}
	why := "it is addressed to nobody"
	switch {
	case e.policy.Proposals.Fulfil == "never":
		why = "the owner's policy fulfils no proposals"
	case e.book.MayServe(l):
		why = "the gateway does not let " + e.room.me + " make the request that would serve it"
	}
	e.queueBook(e.book.Leave(l, why))
}

// about is what every record about a proposal says.
func about(l *proposal.Life) record.Record {
	r := record.Record{Env: l.ID, From: l.Proposer, Method: l.Method, Via: "proposal", Proposal: l.ID}
	if l.Method == "tools/call" {
		r.Tool = refusal.Clip(l.Key)
	}
	return r
}

// contentSum is equal for those that ask for the same, however it is spelled, and whyever; of what is
// more than people are asked about, only where it is spelled alike too (FINDINGS M3).
func contentSum(env *wire.Envelope) [32]byte {
	if env.Wrong == nil && inflight.MayJustify(&env.Message) {
		_, env = meta.TakeWhy(env)
	}
	args, beside := meta.Parts(&env.Message, env.Method, jsonrpc.ModernRevision)
	if len(args)+len(beside)+len(env.Key) > approval.MaxAsked {
		return sha256.Sum256(env.Message.Get(jsonrpc.Params))
	}
	text := jsonrpc.AppendQuote(jsonrpc.AppendQuote(nil, env.Method), env.Key)
	return sha256.Sum256(slices.Concat(text, approval.Canonical(args), approval.Canonical(beside)))
}
