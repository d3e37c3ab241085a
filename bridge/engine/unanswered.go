package engine

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// How a call ends that the server does not answer in time, or whose caller wants
// no answer any more.

// keepNumber keeps the number of a call that nobody waits for any more, so that a
// late answer is known for what it is, but not for ever: a server need not
// answer what was cancelled.
func (e *Engine) keepNumber(c *inflight.Call) {
	e.alarms.stop(c.Alarm)
	c.Alarm = e.alarms.set(e.now.Add(e.timeout), func() { e.remove(c) })
	e.quitsSoon(c)
}

// notWritten: the call never left us.
func (e *Engine) notWritten(ev NotWritten) {
	c := e.calls.ByNumber[ev.Call]
	if c == nil {
		return
	}
	var r refusal.Refusal
	if ev.Halted != nil {
		r = e.haltedAs(ev.Halted)
	} else {
		r = refusal.ServerUnavailable("takes no more lines: "+ev.Err.Error(), time.Second)
	}
	e.finishUnanswered(c, r)
	e.resolveOwn(c, nil)
}

// timedOut answers a call that took too long. The server may still be at it;
// three in a row and the server is started afresh (RELIABILITY section 3).
func (e *Engine) timedOut(c *inflight.Call) {
	e.cancelAtServer(c, "timeout")
	e.refuseCall(c, refusal.CallTimeout(e.allowance(c)))
	e.keepNumber(c)
	if e.calls.Timeouts++; e.calls.Timeouts == 3 {
		e.calls.Timeouts = 0
		e.do(Restart{"three requests in a row were not answered in time"})
	}
	e.resolveOwn(c, nil)
}

// cancelled: only the caller can take back its call, and only its own. Where it
// has several under one id and does not say which, it wants none of them.
func (e *Engine) cancelled(env *wire.Envelope) {
	ref := env.Message.Get(jsonrpc.RequestID)
	if e.cancelAwaiting(env.From, ref) {
		return
	}
	meant := e.calls.Meant(env.From, string(ref), env.Corr)
	if id, ok := jsonrpc.Unquote(ref); ok && len(meant) == 0 && e.book.Holds(env.From, id) {
		e.queueBook(e.book.Withdrawn(env.From, id, "cancelled")) // seed 002, option 4
		return
	}
	if len(meant) == 0 {
		e.drop(env, "cancel_not_caller", "no call of this participant has the id "+string(ref[:min(len(ref), 64)]))
	}
	inTurn(e, meant, e.takenBack)
}

func (e *Engine) takenBack(c *inflight.Call) {
	r := recordOf(c)
	r.Event, r.Reason, r.Executed = record.Withdrawn, "cancelled", string(refusal.No)
	started := !c.Phase.Unstarted()
	if started {
		r.Outcome, r.Executed = "unknown", string(refusal.Perhaps)
	}
	if c.Phase == inflight.Asked {
		e.queueDesk(e.desk.Withdraw(e.now, c.Question, approval.Cancelled))
		e.then(func() { e.note(r) }) // the last word comes last
		return
	}
	e.note(r)
	e.settle(c)
	e.served(c, proposal.Unserved, refusal.Executed(r.Executed))
	if started {
		e.ledger.Commit(c.Hold)
		e.cancelAtServer(c, "the caller cancelled it")
		e.keepNumber(c)
	}
}

// withdrawFor ends the questions of a caller who is gone, the calls that were agreed to and
// have not started, and the requests that wait for the server.
func (e *Engine) withdrawFor(who string) {
	e.withdrawAwaiting(approval.CallerLeft, func(w *awaiting) bool { return w.env.From == who })
	inTurn(e, sorted(e.calls.Asked), func(id string) {
		if c := e.calls.Asked[id]; c != nil && c.From == who {
			e.queueDesk(e.desk.Withdraw(e.now, id, approval.CallerLeft))
		}
	})
	e.then(func() {
		inTurn(e, e.calls.Unstarted(), func(c *inflight.Call) {
			if c.From == who && !c.Phase.Settled() {
				e.note(leftBehind(c))
				e.settle(c)
				e.served(c, proposal.Unserved, refusal.No)
			}
		})
	})
}

func (e *Engine) cancelAtServer(c *inflight.Call, why string) {
	if c.Origin != inflight.Host { // the client says so itself
		e.tellToEnd(c, why)
	}
}

// quitsSoon: the server was told that nobody wants a call any more.
func (e *Engine) quitsSoon(c *inflight.Call) {
	if !e.hosted || c.Origin == inflight.Host {
		return
	}
	e.alarms.set(e.now.Add(quitGrace), func() {
		if c.Phase == inflight.Abandoned {
			c.On(inflight.Expire)
		}
		e.endedBeside(c.Number)
	})
}

// cancelFor ends the calls at the server of a caller who is gone for good: nobody
// waits for them, and a server that belongs to a client too has other work. What
// serves a proposal goes on, for others hear of it.
func (e *Engine) cancelFor(who string) {
	for _, c := range e.calls.InOrder() {
		if c.From != who || c.Phase.Settled() || c.Origin == inflight.Host || c.Life != nil {
			continue
		}
		r := recordOf(c)
		r.Event, r.Reason, r.Outcome, r.Executed = record.Withdrawn, approval.CallerLeft, "unknown", string(refusal.Perhaps)
		e.note(r)
		e.settle(c)
		e.ledger.Commit(c.Hold)
		e.cancelAtServer(c, "the caller is gone")
		e.keepNumber(c)
	}
}

// An answer that cannot be read is an answer still (DESIGN 4): whoever made the
// call hears at once that its outcome is unknown, or as soon as it can be told
// whose answer it was.

// lostMost bounds how many lost answers are remembered. Beyond it the oldest is
// forgotten, and whose it was has to wait out its time.
const lostMost = 8

// answerLost: the server has answered one of the calls it has, and nobody knows
// which.
func (e *Engine) answerLost(reason string) {
	l := inflight.Lost{Reason: reason}
	for _, c := range e.calls.InOrder() {
		if c.Origin != inflight.Host && c != e.server.listens.call {
			l.Among = append(l.Among, c.Number)
		}
	}
	if len(l.Among) == 0 {
		return
	}
	if len(e.calls.Lost) == lostMost {
		e.calls.Lost = e.calls.Lost[1:]
	}
	e.calls.Lost = append(e.calls.Lost, l)
	e.attribute()
}

// refuseUnstarted ends a call that was never written.
func (e *Engine) refuseUnstarted(c *inflight.Call, r refusal.Refusal) {
	e.ledger.GiveBack(c.Hold)
	e.refuseCall(c, r)
}

// leftBehind is the last word on a call that has not started when its caller
// leaves.
func leftBehind(c *inflight.Call) record.Record {
	r := recordOf(c)
	r.Event, r.Reason, r.Executed = record.Withdrawn, approval.CallerLeft, string(refusal.No)
	return r
}

// hostCancelled: the client takes a call back. The server hears it only if it
// has the call.
func (e *Engine) hostCancelled(ev HostCancelled) {
	if e.cancelAwaiting(inflight.HostID, ev.ID) {
		return
	}
	if c := e.hostCall(ev.ID); c != nil {
		if !c.Phase.Unstarted() {
			e.tellServer(ev.Line)
		}
		e.takenBack(c)
	}
}

// hostAnswered: the server has answered a call of the client's, which gets the
// answer without us.
func (e *Engine) hostAnswered(ev HostAnswered) {
	c := e.hostCall(ev.ID)
	switch {
	case ev.ID == nil:
		e.note(record.Record{Event: record.Security, Reason: "child_unexpected_response",
			Detail: "the server wrote what some take for the answer to a call that it never got; it was not passed on"})
	case c == nil:
	case c.Phase.Unstarted():
		e.note(record.Record{Event: record.Security, Call: c.Name, Tool: c.Tool(), Reason: "child_unexpected_response",
			Detail: "the server answered a call of its client's that it never got; the answer was not passed on"})
	default:
		e.letGo(c, ev.Outcome)
	}
}

// letGo ends a call that the server has and answers without us.
func (e *Engine) letGo(c *inflight.Call, outcome string) {
	e.remove(c)
	if c.Phase.Settled() {
		return // the client has taken it back
	}
	e.settle(c)
	e.ledger.Commit(c.Hold)
	r := recordOf(c)
	r.Event, r.Outcome, r.Executed = record.Ended, outcome, string(refusal.Yes)
	if outcome == "unknown" {
		r.Executed = string(refusal.Perhaps)
	}
	e.note(r)
}

// hostLeft: nobody is there any more who could be answered.
func (e *Engine) hostLeft() {
	e.withdrawFor(inflight.HostID)
}

// isHalted is for whatever would start now.
func (e *Engine) isHalted() refusal.Refusal {
	return e.haltedAs(e.halted)
}

func (e *Engine) haltedAs(h *Halted) refusal.Refusal {
	return refusal.Halted(h.By, e.policy.RedactText(h.Why))
}
