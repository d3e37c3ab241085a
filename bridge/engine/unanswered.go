package engine

import (
	"bytes"
	"slices"
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
	e.finishUnanswered(c, refusal.ServerUnavailable("takes no more lines: "+ev.Err.Error(), time.Second))
	e.answerOwn(c, nil)
}

// timedOut answers a call that took too long. The server may still be at it;
// three in a row and the server is started afresh (RELIABILITY section 3).
func (e *Engine) timedOut(c *inflight.Call) {
	e.cancelAtServer(c, "timeout")
	e.answerFor(c, refusal.CallTimeout(e.allowance(c)))
	e.keepNumber(c)
	if e.calls.Timeouts++; e.calls.Timeouts == 3 {
		e.calls.Timeouts = 0
		e.do(Restart{"three requests in a row were not answered in time"})
	}
	e.answerOwn(c, nil)
}

// cancelled: only the caller can take back its call, and only its own. Where it
// has several under one id and does not say which, it wants none of them.
func (e *Engine) cancelled(env *wire.Envelope) {
	ref := env.Message.Get(jsonrpc.RequestID)
	if e.withdrawAwaiting(env.From, ref) {
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

// withdrawFor ends the questions of a caller who is gone, and the calls that
// were agreed to and have not started.
func (e *Engine) withdrawFor(who string) {
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

// A server that belongs to a client may ask the person there something while it is
// also at work for somebody in the topic. Nobody can tell whose business it is
// about, so the person does not see it (stdio.Host.Occupied). It waits, for what
// it may be about instead: if the server answers all of that without an answer to
// its question, the question was its client's own, and goes there after all.
const (
	asideWait = 10 * time.Second // no longer: the call that it may be about waits for it in turn
	asideMost = 16               // questions that wait
	asideMax  = 1 << 20          // bytes of one

	// quitGrace is how long a server that was told to end a call may still be at
	// it. After that what it asks is held to be its client's own.
	quitGrace = 5 * time.Second
)

// An aside is such a question.
type aside struct {
	id    []byte // raw
	line  []byte
	among []uint64 // the calls that it may be about, and that the server has not answered
	alarm *alarm
}

// setAside has a question wait, and reports whether it does.
func (e *Engine) setAside(m *jsonrpc.Message) bool {
	method := ShortMethod(m)
	if !e.hosted || method != elicitation && method != "sampling/createMessage" || len(e.asides) == asideMost || len(m.Raw) > asideMax {
		return false
	}
	a := &aside{id: bytes.Clone(m.Get(jsonrpc.ID)), line: bytes.Clone(m.Raw)}
	for _, c := range e.calls.InOrder() {
		if c.Occupies() {
			a.among = append(a.among, c.Number)
		}
	}
	if len(a.among) == 0 { // it has ended meanwhile
		e.do(TellHost{a.line})
		return true
	}
	a.alarm = e.alarms.set(e.now.Add(asideWait), func() { e.refuseAsides(func(o *aside) bool { return o == a }) })
	e.asides = append(e.asides, a)
	return true
}

// answeredBeside: the server has answered a call. What it asked meanwhile was not
// about that.
func (e *Engine) answeredBeside(number uint64) {
	e.asides = slices.DeleteFunc(e.asides, func(a *aside) bool {
		a.among = slices.DeleteFunc(a.among, func(n uint64) bool { return n == number })
		if len(a.among) > 0 {
			return false
		}
		e.alarms.stop(a.alarm)
		e.do(TellHost{a.line})
		return true
	})
}

// endedBeside: a call has ended without an answer of the server's. What it asked
// meanwhile may have been about that.
func (e *Engine) endedBeside(number uint64) {
	e.refuseAsides(func(a *aside) bool { return slices.Contains(a.among, number) })
}

// refuseAsides tells the server that nobody answers what it asked.
func (e *Engine) refuseAsides(which func(*aside) bool) {
	e.asides = slices.DeleteFunc(e.asides, func(a *aside) bool {
		if !which(a) {
			return false
		}
		e.alarms.stop(a.alarm)
		m, _ := jsonrpc.Parse(a.line, jsonrpc.Passed)
		e.refuseServer(&m)
		return true
	})
}

// forgetAside: the server takes a question back.
func (e *Engine) forgetAside(m *jsonrpc.Message) {
	e.asides = slices.DeleteFunc(e.asides, func(a *aside) bool {
		if !bytes.Equal(a.id, m.Get(jsonrpc.RequestID)) {
			return false
		}
		e.alarms.stop(a.alarm)
		return true
	})
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

// stillLost: one call less that a lost answer may have been for.
func (e *Engine) stillLost(number uint64) {
	for i := range e.calls.Lost {
		l := &e.calls.Lost[i]
		if at, has := slices.BinarySearch(l.Among, number); has {
			l.Among = slices.Delete(l.Among, at, at+1)
		}
	}
	e.attribute()
}

// attribute ends the calls of which it is certain by now that a lost answer was
// theirs: those of a set for which as many were lost as are in it.
func (e *Engine) attribute() {
	for _, l := range e.calls.Lost {
		within := func(other inflight.Lost) bool { return other.Newest() <= l.Newest() }
		certain := 0
		for _, other := range e.calls.Lost {
			if within(other) {
				certain++
			}
		}
		if certain < len(l.Among) {
			continue
		}
		e.calls.Lost = slices.DeleteFunc(slices.Clone(e.calls.Lost), within)
		for _, n := range l.Among {
			if c := e.calls.ByNumber[n]; c != nil {
				e.unreadable(c, l.Reason)
			}
		}
		return // to end a call is to look again
	}
}

// unreadable ends a call whose answer came and cannot be read.
func (e *Engine) unreadable(c *inflight.Call, reason string) {
	if c.Origin == inflight.Self {
		e.remove(c)
		e.answerOwn(c, nil)
		return
	}
	e.finishUnanswered(c, refusal.AnswerUnreadable(reason))
}
