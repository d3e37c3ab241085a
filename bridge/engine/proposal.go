package engine

import (
	"cmp"
	"errors"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/meta"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A proposal takes the road of a request as soon as it is ours to judge:
//
//	offered -> Book -> Consider -> consider -> judged -> admit
//	        -> a question, unless the owner said otherwise -> on record and synced
//	        -> start: a request to ourselves, for all to see, and the line
//
// What goes wrong before that request counts as the claim (Won) is a reject; later it is an
// answer.

// offered takes a proposal of a participant, whoever it is addressed to.
func (e *Engine) offered(env *wire.Envelope) {
	if e.repeated(env) {
		return
	}
	if len(env.Corr) > 0 {
		e.note(record.Record{Event: record.Warning, Reason: "proposal_with_correlation", Env: env.ID, From: env.From,
			Detail: "a proposal answers nothing, so what it refers to is passed over"})
	}
	if e.offers.lenient {
		lenient := env.Lenient()
		env = &lenient
	}
	offer, err := env.Offer()
	if err == nil && env.Wrong != nil {
		err = errors.New(refusal.Ambiguous(env.Wrong).Message)
	}
	if e.offers.style != wire.Auto {
		offer.Style = e.offers.style
		offer.QuickReject = offer.QuickReject && offer.Style != wire.Off
	}
	e.queueBook(e.book.Offered(proposal.Proposed{Envelope: env, Offer: offer, Wrong: err, Me: e.room.me,
		Lacks: e.lacks(offer.Needs), Sum: contentSum(env)}))
}

// lacks is the first of the capabilities a proposer requires that we do not
// offer, in quotes; "" if we offer all. We offer our tools, what the server says
// that it can, and the kinds we may send.
func (e *Engine) lacks(needs []string) string {
	if e.server.starting() {
		return "" // nobody knows yet
	}
	for _, need := range needs {
		caps := &e.room.caps
		if !slices.Contains(e.provides(), need) && e.server.tools.Tools[need] == nil && !e.server.hello.can(need) && !(caps.Stated() && caps.Predicts(need)) {
			return text.Quote(need, refusal.Clipped)
		}
	}
	return ""
}

// proposed is what a proposal asks for as a request, and whether that is refused.
func (e *Engine) proposed(l *proposal.Life) (*wire.Envelope, refusal.Refusal, bool) {
	env, r, refused := e.asRequest(l.Envelope)
	if !refused {
		r, refused = e.judged(env)
	}
	if !refused && treatments[env.Method] != forward {
		r, refused = refusal.UnknownMethod(env.Method), true
	}
	return env, r, refused
}

// refuseUnservable refuses at once what it will not be able to serve when its turn comes.
func (e *Engine) refuseUnservable(l *proposal.Life) {
	if !l.Targeted {
		return
	}
	env, r, refused := e.proposed(l)
	if !refused {
		c := &inflight.Call{From: env.From, Origin: inflight.Proposal, Method: env.Method, Key: shortKey(env.Key), Request: env, Why: l.Why}
		if inflight.MayJustify(&env.Message) {
			c.Why, c.Request = meta.TakeWhy(env)
		}
		c.Args, c.Beside = meta.Parts(&c.Request.Message, env.Method, e.server.hello.modern())
		d := e.decision(c)
		r, refused = refusalOf(c, &d), d.Verdict == policy.Deny && !overLimit(&d)
	}
	if refused && r.Code != refusal.CodeBusy && r.Code != refusal.CodeServerUnavailable && r.Code != refusal.CodeHalted {
		e.queueBook(e.refuseLife(l, &r))
		return
	}
	e.sendStatus(l, "defer", "queued", "")
}

// consider judges a proposal as if it were a request. What it requires could not be looked up if
// it came while the server started, be it that others had it since.
func (e *Engine) consider(l *proposal.Life) {
	if e.server.starting() && e.awaitsStartFor(l) {
		if l.State == proposal.Pending { // and not refused for want of room
			e.sendStatus(l, "defer", "queued", "")
		}
		return
	}
	if offer, err := l.Envelope.Offer(); err == nil {
		if lacks := e.lacks(offer.Needs); lacks != "" {
			e.queueBook(e.book.Refuse(l, proposal.Incapable, "we do not offer "+lacks))
			return
		}
	}
	env, r, refused := e.proposed(l)
	if refused {
		e.queueBook(e.refuseLife(l, &r))
		return
	}
	c := e.newCall(env, l, inflight.Proposal)
	l.Why = cmp.Or(c.Why, l.Why) // the request that is made of it does not have it, and it may come back as that
	c.Why = l.Why
	e.offers.calls[l] = c
	e.admit(c)
}

// asRequest is what a proposal asks for as the request that would do it. What
// else the proposal says is not for the server.
func (e *Engine) asRequest(env *wire.Envelope) (*wire.Envelope, refusal.Refusal, bool) {
	if size := len(env.Message.Get(jsonrpc.Params)); size > jsonrpc.MaxSize-envelopeRoom {
		return nil, refusal.ProposalTooLarge(size), true
	}
	m, err := env.Message.Request([]byte("0"), env.Method)
	if err != nil {
		return nil, refusal.InvalidParams(text.Cut(err.Error(), refusal.Clipped)), true
	}
	raw := m.Raw
	if len(raw) > jsonrpc.MaxSize-envelopeRoom {
		return nil, refusal.ProposalTooLarge(len(raw)), true
	}
	return &wire.Envelope{ID: env.ID, From: env.From, To: []string{e.room.me}, Kind: wire.Request, Method: env.Method, Key: env.Key,
		Payload: raw, Message: m}, refusal.Refusal{}, false
}

// startProposed starts what a rule has allowed, if it still does.
func (e *Engine) startProposed(c *inflight.Call) {
	e.ledger.GiveBack(c.Hold)
	c.Beside = e.besideNow(c)
	c.Decision = e.decision(c)
	e.pinned(c)
	e.reserve(c, c.Decision)
	r, refused := e.judged(c.Request)
	busy, noRoom := e.noRoom(c)
	lapsed, unwanted := e.unwanted(c)
	switch {
	case refused:
		e.refuseCall(c, r)
	case unwanted:
		e.refuseCall(c, lapsed)
	case c.Decision.Verdict != policy.Allow || !e.fulfils(c.Life):
		e.refuseCall(c, refusalOf(c, &c.Decision))
	case noRoom:
		e.refuseCall(c, busy)
	default:
		e.start(c)
	}
}

// refused puts a refusal on record, unless that of its call is there already or the
// proposer's share is spent, and tells the proposer.
func (e *Engine) refused(a proposal.Refused) {
	if e.offers.calls[a.Life] == nil && e.chargeRecord(a.Life.Proposer) {
		r := about(a.Life)
		r.Event, r.Reason, r.Detail, r.State = record.Rejected, a.Reason, a.Detail, "untold"
		if told(a) {
			r.State = "told"
		}
		if a.Reason == proposal.LeftToOthers {
			r.Event = record.Left
		}
		e.note(r)
	}
	if a.Told {
		e.sendStatus(a.Life, "reject", "unable", a.Reason)
		e.reject(a.Life, wire.Ending{Reason: a.Reason, Detail: a.Detail, Say: a.Life.Said, By: a.Life.SaidBy})
	}
}

// noted puts on record what has become of a proposal, and ends what has lost its
// reason thereby.
func (e *Engine) noted(a proposal.Noted) {
	r := about(a.Life)
	r.Event, r.Reason, r.Detail, r.State = a.Event, a.Reason, a.Detail, a.State.String()
	if a.By != "" {
		r.By = []string{approval.Participant(a.By).String()}
	}
	switch a.Event {
	case record.Proposed:
		o := record.Offered{Preferred: a.Terms.Preferred, Exclusive: a.Terms.Exclusive, TTLMS: a.Terms.TTL.Milliseconds(), Why: e.policy.RedactText(a.Why)}
		if len(o.Preferred) > 0 || o.Exclusive || o.TTLMS > 0 || o.Why != "" {
			r.Offer = &o
		}
	case record.Withdrawn, record.Expired:
		r.Reason = e.policy.RedactText(r.Reason)
	}
	whose := a.Life.Proposer
	if a.Event == record.Dropped || a.Event == record.Security {
		whose = cmp.Or(a.By, whose)
	}
	if !a.Quiet && (!bareWord(a.Event) || e.chargeRecord(whose)) {
		e.note(r)
	}
	if a.Moot {
		e.moot(a.Life, a.Event)
	}
}

// bareWord reports whether a participant can have such a record written as often as it
// likes, and nothing need come of it. What is asked or runs for a proposal has records
// of its own.
func bareWord(event record.Event) bool {
	switch event {
	case record.Proposed, record.Withdrawn, record.Expired, record.Dropped, record.Security:
		return true
	}
	return false
}

// moot ends what is under way about a proposal and has not started.
func (e *Engine) moot(l *proposal.Life, why record.Event) {
	if c := e.offers.calls[l]; c != nil {
		delete(e.offers.calls, l)
		claimed := c.Phase == inflight.Claiming
		e.abandon(c, "proposal_"+string(why))
		second := claimed && c.Claim == inflight.Seen && why != record.Withdrawn && why != record.Expired
		if second {
			e.then(func() { e.cameSecond(c) })
		} else if why == record.Taken { // whoever is told that another serves it has had our last word
			e.then(func() { e.book.KeepEnvelope(l, c.Request) })
		}
	}
	e.then(func() { e.endRequestsFor(l) })
}

// endRequestsFor ends what participants request for a proposal that was taken back.
func (e *Engine) endRequestsFor(l *proposal.Life) {
	if l.State != proposal.Withdrawn || l.Run == "" {
		return
	}
	inTurn(e, sorted(e.calls.Asked), func(id string) {
		if c := e.calls.Asked[id]; c != nil && c.Life == l {
			e.queueDesk(e.desk.Abort(e.now, id, proposalGone))
		}
	})
	e.then(func() {
		inTurn(e, e.calls.Unstarted(), func(c *inflight.Call) {
			if c.Life == l && !c.Phase.Settled() {
				e.refuseCall(c, e.closedBy(l))
			}
		})
	})
}

// abandon ends a call that has not started, and of which nobody is to hear.
func (e *Engine) abandon(c *inflight.Call, why string) {
	r := recordOf(c)
	r.Event, r.Reason, r.Executed = record.Withdrawn, why, string(refusal.No)
	if c.Phase == inflight.Asked {
		e.queueDesk(e.desk.Withdraw(e.now, c.Question, why))
	} else if !c.Phase.Settled() {
		e.settle(c)
	}
	e.then(func() { e.note(r) })
}

// wins goes on with a call whose claim came first.
func (e *Engine) wins(c *inflight.Call) {
	e.alarms.stop(c.Alarm)
	delete(e.calls.Claiming, c.Self)
	c.On(inflight.Resume)
	// Nobody else has to hear of it: we make the request ourselves.
	if _, ok := e.book.Started(c.Life, proposal.Run{ID: c.Self, By: e.room.me, Runner: e.room.me, Here: true}); !ok {
		e.refuseCall(c, e.closedBy(c.Life))
		return
	}
	c.Claim = inflight.Won
	e.sendStatus(c.Life, "accept", "processing", "")
	if c.Agreed != nil {
		e.startOrPark(c)
	} else {
		e.startProposed(c)
	}
}

// echoed: a frame of our own has come back. It reports whether it is a claim. Any request
// of ours shows that the gateway returns them (seed 302244).
func (e *Engine) echoed(env *wire.Envelope) bool {
	c := e.calls.Claiming[env.ID]
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

// sentByUs says what a request under our own id is that nobody waits for.
func (e *Engine) sentByUs(env *wire.Envelope) string {
	if e.book.ByItself(e.room.me, env.ID) {
		return record.OwnReturned
	}
	return "an echo or a forgery of our own id"
}

// unechoed settles a claim that has not come back in time: it waits on, is given up, yields
// or wins.
func (e *Engine) unechoed(c *inflight.Call) {
	switch {
	case c.Phase != inflight.Claiming:
	case e.room.held.Delays([]string{c.Self}):
		e.awaitEcho(c) // it has not even left
	case c.Claim != inflight.Seen:
		e.refuseCall(c, unclaimed("so much waited to leave that the request that shows who serves this was given up"))
	case e.room.echoes && !c.Patient:
		e.awaitEcho(c) // one has come back since, so this may need its time (seed 401554)
	case e.room.echoes:
		e.refuseCall(c, unclaimed("the gateway has lost the request that shows who serves this"))
	case c.Rival != nil && (c.RivalEnd != nil || c.Life.Before(c.Rival.By, e.room.me)):
		e.yields(c)
	default:
		e.wins(c)
	}
}
