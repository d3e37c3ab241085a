package engine

import (
	"bytes"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

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
		e.linger(c)
	}
}
