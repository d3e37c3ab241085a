package engine

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
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
// What goes wrong before the start is a reject, and not an answer.

// offers is what the Engine knows of proposals beside the Book.
type offers struct {
	lenient, toolsRequest bool // as Config says
	style                 wire.Style
	calls                 map[*proposal.Life]*inflight.Call // that we would make of our own accord, or have made, until they end
	claims                map[string]*inflight.Call         // those of them whose requests are out, by these, until it is known who came first
	unechoed              []*inflight.Call                  // those of these whose time to come back was over before the event in hand
	status                bool
	said                  []rejection // the last few rejects, the oldest first
}

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
		Lacks: e.lacks(offer.Needs), Sum: sumOf(env)}))
}

// sumOf is equal for those that ask for the same, however it is spelled; of what is
// more than people are asked about, only where it is spelled alike too (FINDINGS M3).
func sumOf(env *wire.Envelope) [32]byte {
	args, beside := partsOf(&env.Message, env.Method, jsonrpc.ModernRevision)
	if len(args)+len(beside)+len(env.Key) > approval.MaxAsked {
		return sha256.Sum256(env.Message.Get(jsonrpc.Params))
	}
	text := jsonrpc.AppendQuote(jsonrpc.AppendQuote(nil, env.Method), env.Key)
	return sha256.Sum256(slices.Concat(text, approval.Canonical(args), approval.Canonical(beside)))
}

// lacks is the first of the capabilities a proposer requires that we do not
// offer, in quotes; "" if we offer all. We offer our tools, what the server says
// that it can, and the kinds we may send.
func (e *Engine) lacks(needs []string) string {
	for _, need := range needs {
		caps := &e.room.caps
		if !slices.Contains(e.provides(), need) && e.server.tools.Tools[need] == nil && !e.server.hello.can(need) && !(caps.Stated() && caps.Predicts(need)) {
			return text.Quote(need, refusal.Clipped)
		}
	}
	return ""
}

// provides is what the server is for, by the word of its owner.
func (e *Engine) provides() []string {
	all := slices.Concat(e.policy.Provides, e.provided)
	slices.Sort(all)
	return slices.Compact(all)
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
		c := &inflight.Call{Method: env.Method, Key: shortKey(env.Key), Request: env}
		c.Args, c.Beside = partsOf(&env.Message, env.Method, e.server.hello.modern())
		d := e.policy.Decide(e.described(env.From, "proposal", c.Method, c.Named(), c.Args, c.Beside), &e.ledger)
		r, refused = refusal.PolicyDenied(whatOf(c), d.Rule), d.Verdict == policy.Deny && !overLimit(&d)
	}
	if refused && r.Code != refusal.CodeBusy && r.Code != refusal.CodeServerUnavailable {
		e.queueBook(e.book.Refuse(l, r.Word(), r.Exactly()))
		return
	}
	e.sendStatus(l, "defer", "queued", "")
}

// consider judges a proposal as if it were a request.
func (e *Engine) consider(l *proposal.Life) {
	env, r, refused := e.proposed(l)
	if refused {
		e.queueBook(e.book.Refuse(l, r.Word(), r.Exactly()))
		return
	}
	c := e.newCall(env, l, inflight.Proposal)
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

func (e *Engine) rulesOfProposals() proposal.Rules {
	p := e.policy.Proposals
	return proposal.Rules{Broadcast: p.Broadcast, RejectUntargeted: p.RejectUntargeted == "always",
		RejectWhereItHelps: p.RejectUntargeted != "never"}
}

// fulfils reports whether we serve a proposal at all, if its call may be made.
func (e *Engine) fulfils(l *proposal.Life) bool {
	return e.policy.Proposals.Fulfil != "never" && e.book.MayServe(l) && e.mayRequest(l.Method, l.Key)
}

// mayRequest reports whether the gateway lets us make the request to ourselves
// that shows who serves a proposal. Without it nothing is served (WIRE 7.8).
func (e *Engine) mayRequest(method, key string) bool {
	if !e.room.seated {
		return true // it is held until there is a seat
	}
	_, err := e.room.dialect.Spelling(&wire.Envelope{Kind: wire.Request, Method: method, Key: key}, e.room.caps)
	return err == nil
}

// leave leaves a proposal to others that we could serve.
func (e *Engine) leave(l *proposal.Life) {
	delete(e.offers.calls, l)
	if e.policy.Proposals.Fulfil != "never" && !e.book.MayServe(l) && e.book.Tells(l) {
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

// allowed starts what a rule has allowed, if it still does.
func (e *Engine) allowed(c *inflight.Call) {
	e.ledger.GiveBack(c.Hold)
	c.Beside = e.besideNow(c)
	c.Decision = e.policy.Decide(e.described(c.From, c.Via(), c.Method, c.Named(), c.Args, c.Beside), &e.ledger)
	e.pinned(c)
	e.reserve(c, c.Decision)
	r, refused := e.judged(c.Request)
	busy, noRoom := e.noRoom(c)
	switch {
	case refused:
		e.unstarted(c, r)
	case c.Decision.Verdict != policy.Allow || !e.fulfils(c.Life):
		e.unstarted(c, refusal.PolicyDenied(whatOf(c), c.Decision.Rule))
	case noRoom:
		e.unstarted(c, busy)
	default:
		e.start(c)
	}
}

// claim says, on the topic and in the Book, that a call serves its proposal
// from now on. It reports false where that is too late; then the caller has
// heard so.
func (e *Engine) claim(c *inflight.Call) bool {
	if c.Standing == inflight.Won {
		return true // it was said when it contended for it
	}
	if c.Origin == inflight.Proposal && c.Life.Contested {
		e.announceClaim(c)
		return false
	}
	run := proposal.Run{ID: c.Env, By: c.From, Runner: e.room.me}
	if c.Origin == inflight.Proposal {
		run.ID, run.By = e.newID(), e.room.me
	}
	acts, ok := e.book.Started(c.Life, run)
	if !ok {
		r := e.closedBy(c.Life)
		e.unstarted(c, r)
		return false
	}
	e.queueBook(acts)
	if c.Origin == inflight.Proposal {
		c.Self, c.Standing = run.ID, inflight.Won
		c.ID = jsonrpc.AppendQuote(nil, c.Self)
		e.sendStatus(c.Life, "accept", "processing", "")
		e.requestOurselves(c)
	}
	return true
}

// requestOurselves shows who serves a proposal, and with which parameters. Its
// echo runs nothing (WIRE W-9); it says whose request came first, where others may
// serve it as well.
func (e *Engine) requestOurselves(c *inflight.Call) {
	payload := asAgreed(c).AppendCall(nil, c.ID, c.Method)
	e.send(wire.Reply, &wire.Envelope{ID: c.Self, Kind: wire.Request, To: []string{e.room.me}, Corr: []string{c.Life.ID},
		Method: c.Method, Key: c.Key, Payload: payload})
}

// declined ends a call of our own accord that never began: its proposal is
// refused.
func (e *Engine) declined(c *inflight.Call, r refusal.Refusal) {
	of := refusedOn(recordOf(c), r)
	of.Event, of.Outcome, of.Reason, of.Detail, of.State = record.Rejected, "", r.Word(), r.Exactly(), "untold"
	acts := e.book.Refuse(c.Life, of.Reason, of.Detail)
	if len(acts) == 0 {
		return // the proposal is over, and whoever ends the call for that says so
	}
	if slices.ContainsFunc(acts, told) {
		of.State = "told"
	}
	if !c.SummedUp {
		e.note(of)
	}
	e.queueBook(acts)
	e.then(func() { delete(e.offers.calls, c.Life) })
}

func told(a proposal.Act) bool {
	r, is := a.(proposal.Refused)
	return is && r.Told
}

// about is what every record about a proposal says.
func about(l *proposal.Life) record.Record {
	r := record.Record{Env: l.ID, From: l.Proposer, Method: l.Method, Via: "proposal", Proposal: l.ID}
	if l.Method == "tools/call" {
		r.Tool = refusal.Clip(l.Key)
	}
	return r
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
		e.reject(a.Life, a.Reason, a.Detail)
	}
}

// noted puts on record what has become of a proposal, and ends what has lost its
// reason thereby.
func (e *Engine) noted(a proposal.Noted) {
	r := about(a.Life)
	r.Event, r.Reason, r.Detail, r.State = a.Event, a.Reason, a.Detail, a.State.String()
	if a.By != "" {
		r.By = []string{a.By}
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
		if claimed {
			e.endClaim(c)
			e.ledger.GiveBack(c.Hold)
		}
		e.abandon(c, "proposal_"+string(why))
		second := claimed && c.Standing == inflight.Seen && why != record.Withdrawn && why != record.Expired
		if second {
			e.then(func() { e.cameSecond(c) })
		} else if why == record.Taken { // whoever is told that another serves it has had our last word
			e.then(func() { e.book.Lent(l, c.Request) })
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
				e.unstarted(c, e.closedBy(l))
			}
		})
	})
}

const proposalGone = "proposal_gone"

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

// What a proposer hears of us beside the answer: that people decide, that we
// serve its proposal, or that we do not, and why.

// defers tells a proposer that wants to know that people decide.
func (e *Engine) defers(c *inflight.Call) {
	if c.Origin == inflight.Proposal && c.Phase == inflight.Asked {
		e.sendStatus(c.Life, "defer", "considering", "")
	}
}

// sendStatus tells a proposer how it stands with its proposal, in the words that it
// has asked for or uses itself, and that the gateway lets pass.
func (e *Engine) sendStatus(l *proposal.Life, response, status, reason string) {
	if l.WantsResponse {
		e.standing(wire.ProposalResponse, l, wire.Standing{State: response, Reason: reason})
		return
	}
	if e.offers.status && (l.Targeted || response != "reject") {
		e.standing(wire.Status, l, wire.Standing{State: status, Reason: reason})
	}
}

func (e *Engine) standing(kind wire.Kind, l *proposal.Life, s wire.Standing) {
	env := &wire.Envelope{Kind: kind, To: []string{l.Proposer}, Corr: []string{l.ID}, Payload: s.Payload(), Style: l.Style}
	if _, err := e.room.dialect.Spelling(env, e.room.caps); err == nil && e.send(wire.Notice, env) {
		l.Announced = true
	}
}

// A rejection is a reject as it went out.
type rejection struct {
	env  *wire.Envelope
	kind string // in which words
}

// rejectionsMax is how many may wait for the gateway's complaint: it complains
// at once.
const rejectionsMax = 16

func (e *Engine) reject(l *proposal.Life, reason, detail string) {
	env := &wire.Envelope{Kind: wire.Reject, To: []string{l.Proposer}, Corr: []string{l.ID}, Style: l.Style,
		Payload: wire.Ending{Reason: reason, Detail: detail}.Payload()}
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

// unheard: a frame of ours that puts a question to somebody did not get there, or a
// request that others made for a proposal (FINDINGS D13, M9). Who is merely away is
// left to the roster: they may be back in a moment. ours: it was said to us.
func (e *Engine) unheard(f wire.Fault, ours bool) {
	absent := f.Code == "recipient_absent"
	inTurn(e, f.Trigger, func(id string) {
		switch {
		case absent && !e.believed(): // nor is it known who says so, nor who is here
		case absent:
			e.queueBook(e.book.Nobody(id, e.room.me))
		case ours:
			e.queueDesk(e.desk.Unreachable(e.now, id))
		}
	})
	if !ours || f.Code != "capability_violation" || len(f.Trigger) > 0 {
		return
	}
	env := &wire.Envelope{Kind: wire.Request, Method: elicitation}
	if kind, err := e.room.dialect.Spelling(env, e.room.caps); err == nil && kind == f.AttemptedKind {
		e.queueDesk(e.desk.UnreachableAll(e.now))
	}
}
