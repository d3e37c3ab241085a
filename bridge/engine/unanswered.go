package engine

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// How a call ends that the server does not answer in time, or whose caller wants
// no answer any more.

// linger keeps the number of a call that nobody waits for any more, so that a
// late answer is known for what it is, but not for ever: a server need not
// answer what was cancelled.
func (e *Engine) linger(c *inflight.Call) {
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
	e.finishUnanswered(c, refusal.ServerUnavailable("takes no more lines: "+ev.Err.Error(), time.Second))
	e.hear(c, nil)
}

// timedOut answers a call that took too long. The server may still be at it;
// three in a row and the server is started afresh (RELIABILITY section 3).
func (e *Engine) timedOut(c *inflight.Call) {
	e.cancelAtServer(c, "timeout")
	e.answerFor(c, refusal.CallTimeout(e.allowance(c)))
	e.linger(c)
	if e.calls.Timeouts++; e.calls.Timeouts == 3 {
		e.calls.Timeouts = 0
		e.do(Restart{"three requests in a row were not answered in time"})
	}
	e.hear(c, nil)
}

// cancelled: only the caller can take back its call, and only its own. Where it
// has several under one id and does not say which, it wants none of them.
func (e *Engine) cancelled(env *wire.Envelope) {
	ref := env.Message.Get(jsonrpc.RequestID)
	if e.earlyTakenBack(env.From, ref) {
		return
	}
	meant := e.calls.Meant(env.From, string(ref), env.Corr)
	if id, ok := jsonrpc.Unquote(ref); ok && len(meant) == 0 && e.book.Holds(env.From, id) {
		e.live(e.book.Withdrawn(env.From, id, "cancelled")) // seed 002, option 4
		return
	}
	if len(meant) == 0 {
		e.drop(env, "cancel_not_caller", "no call of this participant has the id "+string(ref[:min(len(ref), 64)]))
	}
	for _, c := range meant {
		e.takenBack(c)
	}
}

func (e *Engine) takenBack(c *inflight.Call) {
	r := recordOf(c)
	r.Event, r.Reason, r.Executed = record.Withdrawn, "cancelled", string(refusal.No)
	started := !c.Phase.Unstarted()
	if started {
		r.Outcome, r.Executed = "unknown", string(refusal.Perhaps)
	}
	if c.Phase == inflight.Asked {
		e.act(e.desk.Withdraw(e.now, c.Question, approval.Cancelled))
		e.note(r) // the last word comes last
		return
	}
	e.note(r)
	e.settle(c)
	e.served(c, proposal.Unserved, refusal.Executed(r.Executed))
	if started {
		e.ledger.Commit(c.Hold)
		e.cancelAtServer(c, "the caller cancelled it")
		e.linger(c)
	}
}

// withdrawFor ends the questions of a caller who is gone, and the calls that
// were agreed to and have not started.
func (e *Engine) withdrawFor(who string) {
	for _, id := range sorted(e.calls.Asked) {
		if c := e.calls.Asked[id]; c != nil && c.From == who {
			e.act(e.desk.Withdraw(e.now, id, approval.CallerLeft))
		}
	}
	for _, c := range e.calls.Unstarted() {
		if c.From == who && !c.Phase.Settled() {
			e.note(leftBehind(c))
			e.settle(c)
			e.served(c, proposal.Unserved, refusal.No)
		}
	}
}

// leftBehind is the last word on a call that has not started when its caller
// leaves.
func leftBehind(c *inflight.Call) record.Record {
	r := recordOf(c)
	r.Event, r.Reason, r.Executed = record.Withdrawn, approval.CallerLeft, string(refusal.No)
	return r
}

func (e *Engine) cancelAtServer(c *inflight.Call, why string) {
	if c.Origin != inflight.Host { // the client says so itself
		e.tellServer(jsonrpc.AppendCancel(nil, e.calls.ID(c), why))
	}
}
