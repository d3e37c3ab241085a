package engine

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Step tells the Engine what happened and returns what is to be done, in
// order. now must not run backwards. The effects are valid until the next
// Step.
func (e *Engine) Step(now time.Time, ev Event) []Effect {
	clear(e.out)
	e.now, e.out = now, e.out[:0]
	e.room.held.Leaving = e.room.held.Leaving[:0]
	if e.unsaid {
		e.beginHalted()
	}
	// Two events change what is due, and so come before it.
	switch ev := ev.(type) {
	case Reloaded: // what is due is judged by the new rules
		e.backed = ev.Policy
		e.reload(ev.Policy)
	case Saved:
		e.saved(ev)
	case Unrecorded: // a result that is let out now says that its end is not on record
		e.markHeld(ev.Ends)
	}
	e.drain()
	if _, ok := ev.(NotSent); !ok { // that belongs to the Step before: nothing happens in between
		e.passTime()
	}
	switch ev := ev.(type) {
	case Arrived:
		e.arrived(ev.Envelope)
	case ServerSaid:
		e.serverSaid(&ev.Message)
	case Garbled:
		e.garbled(ev.Refused)
	case Seated:
		e.seated(ev)
	case Unseated:
		e.unseated(ev)
	case ServerUp:
		e.serverUp(ev.Hello)
	case ServerDown:
		e.serverDown(ev)
	case ServerNoise:
		e.serverNoise(ev)
	case NotWritten:
		e.notWritten(ev)
	case NotSent:
		e.notSent(ev)
	case Decided:
		e.queueDesk(e.desk.Answer(now, ev.Answer))
	case HostCalled:
		e.hostCalled(ev)
	case HostCancelled:
		e.hostCancelled(ev)
	case HostReplied:
		e.hostReplied(&ev.Message)
	case HostAnswered:
		e.hostAnswered(ev)
	case HostLeft:
		e.hostLeft()
	case Revoked, Halt, Resume:
		e.ownerSaid(ev)
	case Synced, Looked:
		e.waitedFor(ev)
	case Unrecorded:
		e.unrecorded(ev)
	case AuditUp:
		e.auditUp()
	case Checkpoint:
		e.checkpoint(ev)
	case Stopping:
		e.stop()
	case GivingUp:
		e.giveUp()
	case Leaving:
		e.takeLeave()
	case Tick, Reloaded, Saved:
	}
	e.drain()
	e.endWindows()
	if e.stopping && e.calls.Foreign == 0 && !e.Owes() {
		e.do(Idle{})
	}
	return e.out
}

// passTime does what is due.
func (e *Engine) passTime() {
	e.queueBook(e.book.Tick(e.now)) // before the desk: whose proposal is over is not told that nobody decided
	e.drain()
	for next := e.alarms.due(e.now); next != nil; next = e.alarms.due(e.now) {
		e.carryOut(next)
		e.drain()
	}
	e.queueDesk(e.desk.Tick(e.now))
	e.drain()
}

// drain does all that is queued.
func (e *Engine) drain() {
	slices.Reverse(e.todo.items)
	for len(e.todo.items) > 0 {
		last := len(e.todo.items) - 1
		next := e.todo.items[last]
		e.todo.items[last] = nil
		e.todo.items = e.todo.items[:last]
		e.carryOut(next)
		slices.Reverse(e.todo.items[last:])
	}
}

// carryOut does one thing of the queue. A file that needs a function of a later one (see the
// package page) queues an item; only carryOut calls that function for it.
func (e *Engine) carryOut(i item) {
	switch i := i.(type) {
	case func():
		i()
	case response:
		e.responded(i.Envelope)
	case awaited:
		e.startedFor(i.awaiting)
	case asking:
		e.question(i.Call)
	case Looked:
		e.looked(i)
	case resumed:
		e.startOrPark(i.Call)
	case outOfTime:
		e.timedOut(i.Call)
	case proposal.Consider:
		e.consider(i.Life)
	case proposal.Waits:
		e.refuseUnservable(i.Life)
	case proposal.Refused:
		e.refused(i)
	case proposal.Noted:
		e.noted(i)
	case nextOfDesk:
		e.carryOutOfDesk(e.todo.said[e.todo.done])
		e.then(doneOfDesk{})
	case doneOfDesk:
		e.todo.said[e.todo.done] = nil
		if e.todo.done++; e.todo.done < len(e.todo.said) {
			e.then(nextOfDesk{})
		} else {
			e.todo.said, e.todo.done = e.todo.said[:0], 0
		}
	}
}

// startedFor goes on with what waited for the server, as if it came now. What became of a
// proposal meanwhile, the Book knows; if others had it and it came back just now, it is judged already.
func (e *Engine) startedFor(w *awaiting) {
	if w.life == nil {
		e.serve(w.env, e.linked(w.env), w.told)
	} else if w.life.State == proposal.Pending && e.offers.calls[w.life] == nil {
		e.consider(w.life)
	}
}

func (e *Engine) carryOutOfDesk(a approval.Act) {
	switch a := a.(type) {
	case approval.Show:
		e.show(a)
	case approval.Close:
		e.close(a)
	case approval.Tally:
		e.tally(a)
	case approval.ToSign:
		e.do(Told{a})
	case approval.Noted:
		e.noteOnQuestion(a)
	case approval.Verify:
		e.queueDesk(e.desk.Verified(e.now, a.ID, e.recheck(a.Question, a.Args)))
	case approval.Settled:
		e.settled(a)
	}
}

// arrived takes a frame from the topic.
func (e *Engine) arrived(env *wire.Envelope) {
	if env.From == e.room.me {
		if !e.echoed(env) && env.Kind == wire.Request && e.forUs(env) {
			e.drop(env, "from_self", e.sentByUs(env))
		}
		return
	}
	if e.isHost(env.From) {
		e.drop(env, "reserved_id", "this id is that of the client beside us, whose calls have rules of their own")
		return
	}
	e.heardFrom(env.From)
	switch env.Kind {
	case wire.Request:
		e.request(env)
	case wire.Response:
		e.rivalAnswers(env)
		e.queueBook(e.book.Answered(env.From, env.To, env.Corr, resultOf(&env.Message), e.room.dialect.OpenRequests()))
		e.then(response{env})
	case wire.Proposal:
		e.offered(env)
	case wire.Withdraw, wire.Reject:
		e.proposalEnds(env)
	case wire.Status, wire.ProposalResponse:
		e.stood(env)
	case wire.Notification:
		e.notified(env)
	case wire.Presence:
		e.presence(env)
	case wire.Failure:
		e.fault(env)
	case wire.Grant:
		e.grant(env)
	case wire.Control:
		if e.forUs(env) {
			e.control(env)
		}
	}
}

// garbled takes a frame that is none to us. One that is a request or proposal with
// nothing wrong but keys that a lenient server takes for one is refused in words.
func (e *Engine) garbled(r *wire.Refused) {
	if r.Asked != nil && (r.Asked.Kind == wire.Proposal || e.forUs(r.Asked)) {
		e.arrived(r.Asked)
		return
	}
	if r.From != "" && r.ID != "" {
		e.usesID(r.From, r.ID)
	}
	if e.chargeRecord(r.From) {
		e.note(record.Record{Event: record.Dropped, Env: r.ID, From: r.From, Reason: r.Reason, Detail: r.Detail})
	}
}

// notified takes a notification from a participant. What says nothing to a
// bridge is passed over.
func (e *Engine) notified(env *wire.Envelope) {
	if env.Method == "notifications/cancelled" && e.forUs(env) {
		e.cancelled(env)
	}
}

// heardFrom says that a participant is alive, whatever presence said.
func (e *Engine) heardFrom(id string) {
	switch p := e.room.peers[id]; {
	case p != nil && p.leaving != nil:
		e.alarms.stop(p.leaving)
		p.leaving, p.missed = nil, false
		e.tellOf(id)
		e.release()
	case p == nil: // no roster lists them, and they are here
		e.notMissing(id)
		if e.room.held.Listed(id, true) {
			e.release()
		}
	}
}

// serverSaid takes a message from the server.
func (e *Engine) serverSaid(m *jsonrpc.Message) {
	switch m.Class() {
	case jsonrpc.Response:
		e.serverAnswered(m)
	case jsonrpc.Notification:
		e.serverTold(m)
	case jsonrpc.Request:
		e.serverAsked(m)
	default:
		e.note(record.Record{Event: record.ServerNoise, Reason: "child_stdout_garbage", Detail: "JSON that is no JSON-RPC message"})
	}
}

// waitedFor takes what the machine says of what we wait for.
func (e *Engine) waitedFor(ev Event) {
	switch ev := ev.(type) {
	case Synced:
		e.synced(ev)
	case Looked:
		e.looked(ev)
	}
}

// synced: the decision is on disk, or could not be put there.
func (e *Engine) synced(ev Synced) {
	e.remember(ev)
	c := e.calls.Syncing[ev.Ticket]
	if w := e.waiting; w != nil && w.ticket == ev.Ticket {
		e.reloadSynced(ev)
		return
	}
	if c == nil {
		e.haltSynced(ev)
		return
	}
	delete(e.calls.Syncing, ev.Ticket)
	switch {
	case c.Phase == inflight.Done: // its caller took it back, or is gone
	case ev.Err != nil:
		e.refuseCall(c, refusal.AuditUnavailable())
	case c.Agreed == nil:
		e.startProposed(c)
	default:
		e.tellWho(c)
		e.startOrPark(c)
	}
}

// endWindows settles the claims whose time to come back is over. The event in hand comes
// first: it may take the proposal back, or be another's claim (seed 6783).
func (e *Engine) endWindows() {
	if over := e.offers.unechoed; len(over) > 0 {
		e.offers.unechoed = nil
		inTurn(e, over, e.unechoed)
		e.drain()
	}
}

// stop admits nothing more. What the server is working on may finish, and nobody
// can keep us from saying how it ended: a pause ends here.
func (e *Engine) stop() {
	e.stopping = true
	e.endPause()
	e.release()
	e.note(record.Record{Event: record.Stopping, Count: e.calls.Foreign})
	e.listenNoMore()
	e.noteUnlisted()
	e.refuseAsides(func(*aside) bool { return true })
	e.queueDesk(e.desk.AbortAll(e.now, approval.ShuttingDown))
	e.startIsOver()
}

// giveUp answers every call that is still at the server: it had its time.
func (e *Engine) giveUp() {
	e.stopping = true
	e.calls.Lost = nil
	for _, c := range e.calls.InOrder() {
		if c.Origin == inflight.Host {
			e.letGo(c, "unknown") // the server answers it without us
			continue
		}
		e.finishUnanswered(c, refusal.CallTimeout(e.now.Sub(c.Began)))
	}
	inTurn(e, e.calls.Unstarted(), func(c *inflight.Call) { e.refuseCall(c, refusal.ShuttingDown()) })
	e.then(func() {
		e.calls.Parked = nil
		clear(e.calls.Syncing)
		clear(e.calls.Looking)
	})
	e.then(e.release)
}

// takeLeave sends what can leave now and gives up the rest. From then on an answer that
// would be held is given up at once: one that the seat does not take, and one whose request
// leaves only now.
func (e *Engine) takeLeave() {
	e.stopping = true
	e.endPause()
	e.listenNoMore()
	e.refuseAsides(func(*aside) bool { return true })
	e.release()
	s := &e.room.held
	e.alarms.stop(e.room.look)
	for _, h := range s.Answers {
		e.giveUpAnswer(h, "shutting_down")
	}
	s.Answers, s.Bytes, s.Closed = nil, 0, true
}

// unrecorded ends calls whose decision could not be put on record. Nothing of
// them has left; and nothing new is admitted until records can be written. A call that
// has run cannot be undone: its caller gets the result, with a mark that the record
// lacks its end (RELIABILITY section 3). Results that are held were marked before (see Step).
func (e *Engine) unrecorded(ev Unrecorded) {
	if !e.auditDown {
		e.auditDown = true
		e.note(record.Record{Event: record.Warning, Reason: "audit_unavailable", Detail: ev.Err.Error()})
		e.queueDesk(e.desk.AbortAll(e.now, auditReason))
	}
	e.then(func() {
		inTurn(e, ev.Calls, func(n uint64) {
			if c := e.calls.ByNumber[n]; c != nil {
				if !ev.Written {
					c.Line = inflight.Unrecorded
				}
				e.finishUnanswered(c, refusal.AuditUnavailable())
				e.resolveOwn(c, nil)
			}
		})
	})
	e.then(func() {
		for _, result := range ev.Results {
			e.send(result.Class, incomplete(result.Envelope))
		}
	})
}

// checkpoint shows the head of the audit to the topic, whose histories witness
// it from then on (DESIGN 10).
func (e *Engine) checkpoint(ev Checkpoint) {
	params := strconv.AppendUint([]byte(`{"seq":`), ev.Seq, 10)
	params = append(jsonrpc.AppendQuote(append(params, `,"hash":`...), ev.Hash), '}')
	e.tell("notifications/mcpx/checkpoint", jsonrpc.AppendNotification(nil, "notifications/mcpx/checkpoint", params))
	e.note(record.Record{Event: record.Checkpoint, HeadSeq: ev.Seq, Head: ev.Hash})
}

// hostCalled takes a tools/call of the client's. It was read strictly, and its
// id is one.
func (e *Engine) hostCalled(ev HostCalled) {
	m := ev.Message
	env := &wire.Envelope{ID: e.newID(), From: inflight.HostID, Kind: wire.Request, Method: m.Text(jsonrpc.Method), Key: m.Text(jsonrpc.Name),
		Message: m, Payload: ev.Line}
	switch {
	case e.OwnsHostCall(m.Get(jsonrpc.ID)):
		e.refuse(env, refusal.InvalidRequest("this id is that of a call that has not been answered yet; use another"))
	case !e.server.starting() || e.halts(env) || !e.awaitsStart(env):
		e.serve(env, nil, 0)
	}
}

// OwnsHostCall reports whether a call that the client made under a raw id is
// still waited for, at the server or before it.
func (e *Engine) OwnsHostCall(id []byte) bool {
	return e.hostCall(id) != nil || slices.ContainsFunc(e.awaiting, func(w *awaiting) bool { return w.is(inflight.HostID, id) })
}

// HoldsHostCall reports whether the server cannot have such a call yet; id nil:
// whether there is any of which that is so.
func (e *Engine) HoldsHostCall(id []byte) bool {
	if id == nil {
		return slices.ContainsFunc(e.awaiting, func(w *awaiting) bool { return w.env.From == inflight.HostID }) ||
			slices.ContainsFunc(slices.Collect(maps.Values(e.calls.Open)), func(c *inflight.Call) bool { return c.Origin == inflight.Host && c.Phase.Unstarted() })
	}
	c := e.hostCall(id)
	return c == nil && e.OwnsHostCall(id) || c != nil && c.Phase.Unstarted()
}

// hostReplied takes the client's answer to a dialog. The desk alone knows whether
// it counts.
func (e *Engine) hostReplied(m *jsonrpc.Message) {
	id, _ := jsonrpc.Unquote(m.Get(jsonrpc.ID))
	d, open := e.dialogs[id]
	if !open {
		e.note(record.Record{Event: record.LateAnswer, From: inflight.HostID, Detail: "an answer to a dialog that is not open"})
		return
	}
	delete(e.dialogs, id)
	a := approval.Answer{Who: approval.Who{Door: approval.Host}, Question: d.question, Digest: d.digest}
	switch {
	case m.Class() != jsonrpc.Response:
		a.Result = []byte("{}") // which is no yes
	case m.Has(jsonrpc.Result):
		a.Result = d.decided(m.Get(jsonrpc.Result))
	default:
		a.Failed = true
	}
	e.queueDesk(e.desk.Answer(e.now, a))
}

// decided is the answer to a dialog in the words of the desk. What is not a choice of
// those offered becomes an accept without a decision, which is a no.
func (d *dialog) decided(result []byte) []byte {
	r, problem := d.form.Read(result)
	if problem != "" {
		return append(jsonrpc.AppendQuote([]byte(`{"action":"accept","content":{"reason":`), problem), "}}"...)
	}
	return r.Result(d.choice)
}
