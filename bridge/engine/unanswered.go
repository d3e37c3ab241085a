package engine

import (
	"bytes"
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

// How a call ends that the server does not answer in time, or whose caller wants
// no answer any more; and, further down, what waits for a server that is starting.

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
	if e.cancelAwaiting(env.From, ref, env.Corr) {
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
	if e.cancelAwaiting(inflight.HostID, ev.ID, nil) {
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

// A server is starting until it has been up once. By then nobody knows its tools, so nothing
// is judged: what the topic asks of it waits, in order, and who asked hears that. A server
// that is hosted belongs to a client beside us (DESIGN 14, "Passthrough"), and is up when
// that one has greeted it; nothing we do may end it, or what its client has asked of it.

const (
	awaitingShare      = 64                // requests and proposals of one participant that wait for the start
	awaitingBytes      = 64 << 20          // of all that waits
	awaitingShareBytes = awaitingBytes / 4 // of one participant; as much as the largest frame
)

// Starting is the notification that tells who asks something of a server that it has not come
// up yet; a caller with a progress token hears it as progress. Its params: seconds, since
// when, and message, which says it in a sentence.
const Starting = "notifications/mcpx/starting"

// awaitsStart has a request wait for the server that is starting.
func (e *Engine) awaitsStart(env *wire.Envelope) bool {
	if e.stopping {
		return false
	}
	e.server.asked = true
	wait, late, full := e.timeout, refusal.NotStarted(e.timeout), refusal.StartIsFull()
	if e.hosted {
		wait, late, full = handshakeWait, refusal.NotGreeted(handshakeWait), refusal.AtCapacity()
	}
	e.dropOver()
	if !e.mayAwait(env) {
		e.refuse(env, full)
		return true
	}
	w := &awaiting{env: env}
	w.until = e.alarms.set(e.now.Add(wait), func() {
		e.awaitNoMore(func(o *awaiting) bool { return o == w })
		e.refuse(env, late)
	})
	e.awaiting = append(e.awaiting, w)
	e.tellStarting(w)
	return true
}

// awaitsStartFor is awaitsStart for a proposal that is ours to judge.
func (e *Engine) awaitsStartFor(l *proposal.Life) bool {
	if e.stopping || e.halted != nil {
		return false
	}
	e.dropOver()
	refuse := func(r refusal.Refusal) { e.queueBook(e.book.Refuse(l, r.Word(), r.Exactly())) }
	switch {
	case slices.ContainsFunc(e.awaiting, func(w *awaiting) bool { return w.life == l }):
	case !e.mayAwait(l.Envelope):
		refuse(refusal.StartIsFull())
	default:
		w := &awaiting{env: l.Envelope, life: l}
		w.until = e.alarms.set(e.now.Add(e.timeout), func() {
			e.awaitNoMore(func(o *awaiting) bool { return o == w })
			refuse(refusal.NotStarted(e.timeout))
		})
		e.awaiting = append(e.awaiting, w)
	}
	return true
}

// dropOver takes out the proposals that are over meanwhile, which take up no room.
func (e *Engine) dropOver() {
	e.awaitNoMore(func(w *awaiting) bool { return w.life != nil && w.life.State != proposal.Pending })
}

// mayAwait reports whether there is room for one more to wait.
func (e *Engine) mayAwait(env *wire.Envelope) bool {
	own, ownSize, size := 0, len(env.Payload), len(env.Payload)
	for _, w := range e.awaiting {
		size += len(w.env.Payload)
		if w.env.From == env.From {
			own++
			ownSize += len(w.env.Payload)
		}
	}
	return len(e.awaiting) < e.maxCalls && own < awaitingShare && size <= awaitingBytes && ownSize <= awaitingShareBytes
}

// tellStarting tells a caller that it waits for the start, at once and again later.
func (e *Engine) tellStarting(w *awaiting) {
	if e.hosted {
		return // that start is its client's business, and short
	}
	seconds := strconv.Itoa(int(e.now.Sub(e.server.since).Seconds()))
	message := e.room.me + " is starting"
	if seconds != "0" {
		message += ", " + seconds + " s"
	}
	if token := w.env.Message.Get(jsonrpc.ProgressToken); len(token) > 0 && len(token) <= tokenMax {
		w.told++
		params := append(append([]byte(`{"progressToken":`), token...), `,"progress":`+waited(w.told)+`,"message":`...)
		params = append(jsonrpc.AppendQuote(params, message), `,"_meta":{"`+approvalMeta+`":{"starting":true,"seconds":`+seconds+`}}}`...)
		e.tellOne(wire.Progress, w.env.From, "notifications/progress", jsonrpc.AppendNotification(nil, "notifications/progress", params))
	} else {
		params := append(jsonrpc.AppendQuote([]byte(`{"seconds":`+seconds+`,"message":`), message), '}')
		e.tellOne(wire.Notice, w.env.From, Starting, jsonrpc.AppendNotification(nil, Starting, params))
	}
	w.again = e.alarms.set(e.now.Add(reminderEvery), func() { e.tellStarting(w) })
}

// startIsOver goes on with what waited for the server, which is up or will never be.
func (e *Engine) startIsOver() {
	for _, w := range e.awaiting {
		e.endWait(w)
		e.then(awaited{w})
	}
	e.awaiting = nil
}

func (e *Engine) endWait(w *awaiting) {
	e.alarms.stop(w.until)
	e.alarms.stop(w.again)
}

// awaitNoMore takes out what does not wait any longer, and reports whether there was any.
func (e *Engine) awaitNoMore(which func(*awaiting) bool) (some bool) {
	e.awaiting = slices.DeleteFunc(e.awaiting, func(w *awaiting) bool {
		if !which(w) {
			return false
		}
		some = true
		e.endWait(w)
		return true
	})
	return some
}

// withdrawAwaiting ends the awaiting requests of which their caller wants no more, and says
// so on record.
func (e *Engine) withdrawAwaiting(why string, which func(*awaiting) bool) (some bool) {
	return e.awaitNoMore(func(w *awaiting) bool {
		if w.life != nil || !which(w) {
			return false
		}
		e.note(record.Record{Event: record.Withdrawn, Env: w.env.ID, From: w.env.From, Method: w.env.Method, Tool: refusal.Clip(toolOf(w.env)),
			Reason: why, Executed: string(refusal.No)})
		return true
	})
}

// cancelAwaiting ends the awaiting requests that a cancellation is about: all under an id, or
// the one whose envelope it names too (as Table.Meant).
func (e *Engine) cancelAwaiting(from string, id []byte, envelopes []string) bool {
	meant := func(w *awaiting) bool { return w.is(from, id) }
	named := func(w *awaiting) bool { return meant(w) && slices.Contains(envelopes, w.env.ID) }
	if slices.ContainsFunc(e.awaiting, named) {
		return e.withdrawAwaiting(approval.Cancelled, named)
	}
	return e.withdrawAwaiting(approval.Cancelled, meant)
}

// is reports whether its caller refers to the request by a raw id: its own, or that of its
// envelope where it has none.
func (w *awaiting) is(from string, id []byte) bool {
	own := w.env.Message.Get(jsonrpc.ID)
	if own == nil {
		own = jsonrpc.AppendQuote(nil, w.env.ID)
	}
	return w.env.From == from && (bytes.Equal(own, id) || from == inflight.HostID && inflight.HostKey(own) == inflight.HostKey(id))
}
