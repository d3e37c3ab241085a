package engine

import (
	"bytes"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A call that somebody must agree to takes this road:
//
//	question (-> Look -> looked -> admit, which may allow or deny by then -> question)
//	         -> desk.Open -> Show to each approver (in the topic, at this machine, in the client's dialog)
//	         -> desk.Answer … -> Verify: recheck -> desk.Verified -> Settled: settled
//	         -> awaitDisk: on record, Sync -> synced
//	         -> startOrPark (-> the server comes up, or says its tools again -> startOrPark)
//	         -> startAgreed: recheck -> start
//
// Nothing else starts a call for which somebody was asked.

// question puts a call before those who may agree to it.
func (e *Engine) question(c *inflight.Call) {
	q := approval.Question{
		Caller: c.From, Via: c.Via(), Proposer: e.proposerBehind(c), Method: c.Method, Tool: c.Named(), Args: c.Args, Beside: c.Beside,
		Terms: *c.Decision.Ask, Envelope: c.Env, RPC: c.ID, Host: c.Origin == inflight.Host,
		Bridge: e.room.me, Server: e.serverName, Program: e.serverProgram, Dir: e.serverDir, Command: e.serverCommand, Topic: e.topic, Gateway: e.gateway, Dialect: e.room.dialect.Protocol,
		PolicyHash: e.policy.Hash(), Timeout: e.timeout, Unverified: c.Origin != inflight.Host && !e.believed(),
		Until: e.interestIn(c), Over: asksForLimit(&c.Decision), Inside: c.Inside, Reason: e.policy.RedactText(c.Why),
	}
	if c.Origin == inflight.Proposal {
		q.RPC = nil // a proposal has none; it is named by its envelope (FINDINGS S14)
	}
	if c.Origin == inflight.Host {
		q.Until = e.untilClientTires(c)
		q.Terms.Remember = nil // a participant may have the id of the client when this is not judged
	}
	if t := e.server.tools.Tools[c.Key]; t != nil && c.Tool() != "" {
		q.Fingerprint, q.Changed = t.Print, t.Changed() && e.policy.Server.Pin != "off"
		q.About, q.Hints = t.About, t.Hints
	}
	switch {
	case q.Method == plan.Method:
		e.setPlan(&q)
	case len(q.Terms.Remember) > 1:
		e.offerWider(&q)
	}
	if places := e.desk.Places(&q); len(places) > 0 && c.Phase == inflight.Received {
		e.look(c, places)
		return
	}
	id, acts := e.desk.Open(e.now, q)
	if last := len(acts) - 1; last >= 0 {
		if v, remembered := acts[last].(approval.Verify); remembered {
			acts = append(acts[:last], e.desk.Verified(e.now, id, e.recheck(v.Question, v.Args))...)
		}
	}
	c.Question, c.Digest = id, e.desk.DigestOf(id, acts).Short()
	c.On(inflight.Ask)
	e.calls.Asked[id] = c
	turnedAway := refusedAtOnce(acts)
	c.SummedUp = turnedAway && !e.chargeRecord(c.From)
	r := recordOf(c)
	r.Event, r.Rule, r.Question, r.Of, r.Need = record.Asked, c.Decision.Rule, id, c.Decision.Ask.Of, c.Decision.Ask.Need
	r.Confirm = c.Decision.Ask.Confirm
	r.Unasked = slices.ContainsFunc(acts, isSettled)
	r.Body = c.Body.String()
	r.Digest = c.Digest
	most := argsMax
	if turnedAway {
		most = 0
	} else {
		r.Meta, r.Why = e.passed(c), q.Reason
	}
	putArgs(&r, e.policy, q.Args, q.Beside, most)
	if !c.SummedUp {
		e.note(r)
	}
	if c.Origin == inflight.Proposal || !turnedAway {
		e.isAsked(c)
	}
	e.then(func() { e.queueDesk(acts) })
	e.then(func() {
		e.remind(c)
		e.defers(c)
	})
}

// asksForLimit reports whether a call is asked about because a limit is used up.
func asksForLimit(d *policy.Decision) bool {
	return slices.ContainsFunc(d.Reasons, func(r policy.Reason) bool { return r.Over && r.Effect == policy.Ask })
}

func isSettled(a approval.Act) bool {
	_, ok := a.(approval.Settled)
	return ok
}

// refusedAtOnce: the desk puts the question to nobody, and nothing runs.
func refusedAtOnce(acts []approval.Act) bool {
	return slices.ContainsFunc(acts, func(a approval.Act) bool {
		s, ok := a.(approval.Settled)
		return ok && s.Outcome != approval.Allowed
	})
}

// countsForNothing: a participant can have such a record written as often as it likes.
func countsForNothing(a approval.Noted) bool {
	return a.Who.Door == approval.Topic && (a.Event == record.ForeignAnswer || a.Event == record.LateAnswer)
}

func (e *Engine) show(a approval.Show) {
	e.do(Told{a}) // whoever it is put to, people at this machine may tell them of it
	switch a.To.Door {
	case approval.Host:
		e.showHost(a)
		return
	case approval.Local:
		return
	}
	if e.calls.Asked[a.ID] == nil {
		return // it has ended since
	}
	if !e.room.seated || e.room.paused != nil {
		return // it is put again when there is a way
	}
	env := &wire.Envelope{ID: a.Ask, Kind: wire.Request, To: []string{a.To.ID}, Method: elicitation,
		Payload: jsonrpc.AppendRequest(nil, a.RPC, elicitation, a.Params)}
	if !e.send(wire.Question, env) {
		e.queueDesk(e.desk.Unreachable(e.now, a.Ask))
	}
}

func (e *Engine) close(a approval.Close) {
	switch a.To.Door {
	case approval.Host:
		e.closeDialog(a.ID, a.Because)
		return
	case approval.Local:
		e.do(Told{a})
		return
	}
	if a.Said != "" {
		a.Because += ": " + e.policy.RedactText(a.Said)
	}
	e.tellOne(wire.Cancellation, a.To.ID, "notifications/cancelled", jsonrpc.AppendCancel(nil, a.RPC, a.Because))
}

// Agreed is the notification that tells a participant who was asked, and has not answered, that
// somebody else agreed meanwhile: with requestId, need and agreed (see [approval.Tally]).
const Agreed = "notifications/mcpx/agreed"

// tally tells a participant that others have agreed.
func (e *Engine) tally(a approval.Tally) {
	e.tellOne(wire.Notice, a.To.ID, Agreed, jsonrpc.AppendNotification(nil, Agreed, a.Params))
}

// responded takes an answer from a participant. The desk alone knows whose
// question it is, and whether it counts.
func (e *Engine) responded(env *wire.Envelope) {
	astray := !e.forUs(env)
	if astray && len(e.calls.Asked) == 0 {
		return
	}
	m := &env.Message
	e.queueDesk(e.desk.Answer(e.now, approval.Answer{Who: approval.Participant(env.From), Corr: env.Corr, ID: m.Get(jsonrpc.ID), Astray: astray,
		Linked: e.room.dialect.MustLink(), Method: env.Method, Result: m.Get(jsonrpc.Result), Failed: !m.Has(jsonrpc.Result)}))
}

// noteOnQuestion puts on record what has become of a question.
func (e *Engine) noteOnQuestion(a approval.Noted) {
	r := record.Record{Event: a.Event, Question: a.ID, Reason: a.Reason, Detail: e.policy.RedactText(a.Said),
		Digest: a.Digest.Short(), Have: a.Have, Call: e.calls.NameOf(a.ID)}
	if a.Signed != nil {
		r.Passkey = a.Signed.Proof
	}
	if a.Question != nil {
		r.From, r.Method, r.Tool = a.Question.Caller, a.Question.Method, a.Question.Tool
		putArgs(&r, e.policy, a.Args, a.Question.Beside, argsMax)
	}
	if a.Event == record.Tightened {
		r.Confirm, r.Need = a.Question.Terms.Confirm, a.Question.Terms.Need
	}
	if a.Who != (approval.Who{}) {
		r.By = []string{a.Who.String()}
	}
	if countsForNothing(a) && !e.chargeRecord(a.Who.ID) {
		return
	}
	e.note(r)
	e.do(Told{a})
}

// settled ends a question: the call may run, or its caller hears why not.
func (e *Engine) settled(s approval.Settled) {
	s.Said = e.policy.RedactText(s.Said) // it goes to the caller, over the topic, and on record
	c := e.calls.Asked[s.ID]
	if s.Question != nil && s.Question.AboutPolicy {
		e.reloadSettled(s)
		return
	}
	if c == nil {
		return
	}
	delete(e.calls.Asked, s.ID)
	e.alarms.stop(c.Alarm)
	e.do(Told{s})
	r := recordOf(c)
	r.Event, r.Verdict, r.Rule, r.Question = record.Decided, "deny", c.Decision.Rule, s.ID
	if s.Outcome == approval.Withdrawn { // nobody has denied it
		r.Verdict = s.Outcome.String()
	}
	r.Reason, r.Detail, r.By, r.Outcome = s.Reason, s.Said, names(s.By), s.Outcome.String()
	r.Digest, r.Modified = s.Digest.Short(), s.Modified
	switch {
	case s.Used != nil:
		r.Grant, r.Item, r.Use = s.Used.ID, s.Used.Item, s.Used.Use
	case s.Made != nil:
		r.Grant, r.Keep, r.Covers = s.Made.ID, s.Made.Keep, s.Made.Covers(e.policy.RedactScanned)
	case s.Outcome == approval.Allowed && c.Method == plan.Method:
		r.Grant, r.Keep, r.Uses = s.Digest.Short(), approval.KeepPlan, usesIn(s.Args)
	}
	if len(s.Modified) > 0 {
		r.Ran = s.Ran.Short()
		putArgs(&r, e.policy, s.Args, s.Question.Beside, argsMax)
	}
	if s.Outcome == approval.Allowed {
		r.Verdict = "allow"
		e.note(r)
		e.awaitDisk(c, &s)
		return
	}
	if !c.SummedUp {
		e.note(r)
	}
	if s.Outcome == approval.Withdrawn {
		if s.Reason == approval.CallerLeft {
			e.note(leftBehind(c))
		}
		e.settle(c)
		e.served(c, proposal.Unserved, refusal.No)
	} else {
		e.refuseCall(c, e.unapproved(c, s))
	}
}

// unapproved is what the caller hears of a question that did not end well
// (WIRE 7.3).
func (e *Engine) unapproved(c *inflight.Call, s approval.Settled) refusal.Refusal {
	r := refusal.Refusal{Executed: refusal.No, Reason: s.Reason, Decision: s.ID, Rule: c.Decision.Rule, Say: s.Said, By: names(s.By)}
	switch {
	case s.Outcome == approval.Expired:
		late := refusal.Undecided(whatOf(c))
		r.Code, r.Reason, r.Message = late.Code, late.Reason, late.Message
	case s.Reason == approval.NoApprover:
		unasked := refusal.Unasked(whatOf(c), s.Need, names(s.Here), names(s.Away))
		r.Code, r.Message = unasked.Code, unasked.Message
		r.Tool, r.Requester, r.Retryable = c.Tool(), c.From, true
	case s.Reason == approval.Busy, s.Reason == approval.Cooldown:
		r.Code, r.Message = refusal.CodeBusy, "people have too many questions before them now"
		r.Retryable, r.RetryAfter = true, max(s.Retry, time.Second)
		if s.Reason == approval.Cooldown {
			r.Message = "people refused you " + whatOf(c) + " several times in a row, so nobody is asked about it for a while"
		}
	case s.Reason == approval.PolicyDenied:
		r = refusal.PolicyDenied(whatOf(c), c.Decision.Rule)
	case s.Reason == approval.ToolChanged:
		r.Code, r.Message = refusal.CodeToolChanged, whatOf(c)+" has changed since the question was put"
	case s.Reason == approval.ShuttingDown:
		r = refusal.ShuttingDown()
	case s.Reason == approval.ProposerLeft:
		r = refusal.ProposalWithdrawn(c.Life.ID)
	case s.Reason == proposalGone:
		r = e.closedBy(c.Life)
	case s.Reason == auditReason:
		r = refusal.AuditUnavailable()
	default:
		r.Code, r.Message = refusal.CodeDenied, whatOf(c)+" "+refusedBy(s)
		if c.Tool() != "" {
			r.Message = "the call of " + r.Message
		}
	}
	return r
}

// refusedBy says, for the caller, how people came to a no.
func refusedBy(s approval.Settled) string {
	who := "somebody"
	if len(s.By) > 0 {
		who = person(s.By[0])
	}
	switch s.Reason {
	case approval.Declined:
		return "was declined by " + who
	case approval.Cancelled:
		return "was put to " + who + ", who did not decide"
	case approval.InvalidAnswer:
		return "was not approved: the answer of " + who + " is no clear yes"
	case approval.InvalidModification:
		return "was not approved: it cannot be changed as " + who + " wants it"
	case approval.Revoked:
		return "was allowed by a yes that was remembered, and has been taken back before it started"
	case approval.InvalidDelegation:
		return "was not approved: it cannot be passed on as " + who + " wants it"
	}
	return "was not approved: " + text.Words(s.Reason)
}

// startOrPark starts a call that may run, or waits for the server as long as the
// agreement lasts.
func (e *Engine) startOrPark(c *inflight.Call) {
	s := c.Agreed
	lapsed, unwanted := e.unwanted(c)
	switch {
	case e.stopping:
		e.refuseCall(c, refusal.ShuttingDown())
	case unwanted:
		e.refuseCall(c, lapsed)
	case !e.now.Before(s.StartBy):
		e.refuseCall(c, refusal.Refusal{Code: refusal.CodeExpired, Reason: "expired", Executed: refusal.No, Decision: s.ID,
			Message: whatOf(c) + " was approved, but could not be started in time"})
	case !e.server.up && e.server.retry >= 0:
		e.park(c)
	case !e.server.up:
		e.refuseCall(c, refusal.ServerUnavailable(e.server.why, e.server.retry))
	case e.readsFirst(c):
	default:
		e.startAgreed(c)
	}
}

// unwanted is why a proposal that came to us to serve must not start any more: its proposer
// took it back or its time ended, while it waited for its claim or for the server (I6).
func (e *Engine) unwanted(c *inflight.Call) (refusal.Refusal, bool) {
	switch l := c.Life; {
	case c.Claim != inflight.Won:
	case l.Unwanted():
		return refusal.ProposalWithdrawn(l.ID), true
	case l.Overdue(e.now):
		return refusal.ProposalExpired(l.ID), true
	}
	return refusal.Refusal{}, false
}

// startAgreed starts a call that somebody agreed to, if policy and tool still are
// such that it may, and there is room.
func (e *Engine) startAgreed(c *inflight.Call) {
	s := c.Agreed
	reason := e.recheck(s.Question, s.Args)
	if !bytes.Equal(e.besideNow(c), c.Beside) {
		reason = approval.ToolChanged
	}
	if c.Revoked { // by nobody who agreed
		e.refuseCall(c, e.unapproved(c, approval.Settled{ID: s.ID, Reason: approval.Revoked}))
		return
	}
	if reason != "" {
		e.refuseCall(c, e.unapproved(c, approval.Settled{ID: s.ID, Reason: reason, By: s.By}))
		return
	}
	if e.full() {
		r := refusal.AtCapacity()
		r.Decision = s.ID
		e.refuseCall(c, r)
		return
	}
	e.start(c)
}

// interestIn is when nobody is interested in a proposal any more.
func (e *Engine) interestIn(c *inflight.Call) time.Time {
	if c.Origin == inflight.Proposal {
		return c.Life.Until
	}
	return time.Time{}
}

// isAsked tells the Book that people are asked about a call, if that serves a proposal.
func (e *Engine) isAsked(c *inflight.Call) {
	switch {
	case c.Origin == inflight.Proposal:
		e.book.Asked(c.Life)
	case c.Life != nil:
		e.queueBook(e.book.Claimed(c.Life, proposal.Run{ID: c.Env, By: c.From, Runner: e.room.me, Here: true}))
	}
}

// proposerBehind is whose proposal a participant's request serves.
func (e *Engine) proposerBehind(c *inflight.Call) string {
	if c.Life == nil || c.Life.Proposer == c.From {
		return ""
	}
	return c.Life.Proposer
}

// defers tells a proposer that wants to know that people decide.
func (e *Engine) defers(c *inflight.Call) {
	if c.Origin == inflight.Proposal && c.Phase == inflight.Asked {
		e.sendStatus(c.Life, "defer", "considering", "")
	}
}

// A question about a call of the client's own is put before the person behind it by a dialog.

const (
	dialogMax    = 8 << 10          // bytes of a question that a client's dialog is asked to show
	hostPatience = 50 * time.Second // what clients wait for a call, less some, where nothing tells them to wait longer
)

// showHost puts a question about a call before the person behind the client that
// makes it. One that is too long for a dialog is not cut: it is answered where
// it can be read.
func (e *Engine) showHost(a approval.Show) {
	if e.calls.Asked[a.ID] == nil {
		return // it has ended since
	}
	e.closeDialog(a.ID, "asked anew")
	v, ok := e.desk.ViewOf(e.now, a.ID, a.To, true)
	d := dialog{a.ID, a.Digest.String(), v.Dialog(a.Problem), v.Choice}
	schema := d.form.Schema()
	if !ok || max(len(d.form.Text), len(schema)) > dialogMax {
		e.queueDesk(e.desk.Answer(e.now, approval.Answer{Who: a.To, Question: a.ID, Digest: d.digest, Failed: true}))
		return
	}
	id := e.hostIDPrefix + e.newID()
	e.dialogs[id] = d
	params := append(jsonrpc.AppendQuote([]byte(`{"message":`), d.form.Text), `,"requestedSchema":`...)
	e.do(TellHost{jsonrpc.AppendRequest(nil, jsonrpc.AppendQuote(nil, id), elicitation, append(append(params, schema...), '}'))})
}

// closeDialog takes a question away from the client's person.
func (e *Engine) closeDialog(question, because string) {
	for _, id := range sorted(e.dialogs) {
		if e.dialogs[id].question == question {
			delete(e.dialogs, id)
			e.do(TellHost{jsonrpc.AppendCancel(nil, jsonrpc.AppendQuote(nil, id), because)})
		}
	}
}

// untilClientTires is when a question about the client's own call must be over,
// so that the client hears where to decide before it gives up. Where it can be
// told to wait, by a dialog or by progress, that is never.
func (e *Engine) untilClientTires(c *inflight.Call) time.Time {
	if c.Origin != inflight.Host || c.Token != nil || e.server.hello.Elicits && slices.Contains(c.Decision.Ask.Of, "host") {
		return time.Time{}
	}
	return e.now.Add(hostPatience)
}

// View is a question as a person at this machine sees it; whole: with every
// argument. id may be any unique beginning of it.
func (e *Engine) View(now time.Time, id string, whole bool) (approval.View, bool) {
	if ids := e.desk.Resolve(id); len(ids) == 1 {
		return e.desk.View(now, ids[0], whole)
	}
	return approval.View{}, false
}

// PublicView is a question as it may be shown to whoever is not at this machine.
func (e *Engine) PublicView(now time.Time, id string) (approval.View, bool) {
	if ids := e.desk.Resolve(id); len(ids) == 1 {
		return e.desk.PublicView(now, ids[0])
	}
	return approval.View{}, false
}

// Pending are the open questions, the oldest first.
func (e *Engine) Pending(skip, limit int) []approval.Summary { return e.desk.Pending(skip, limit) }
