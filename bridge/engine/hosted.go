package engine

import (
	"bytes"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A server that is hosted belongs to a client beside us (DESIGN 14,
// "Passthrough"). It is up when that one has greeted it, not before; nothing we
// do may end it, or what its client has asked of it.

// earlyWait is how long a request waits for the host to greet the server.
const earlyWait = 10 * time.Second

// An early request came before the server was up.
type early struct {
	env   *wire.Envelope
	alarm *alarm
}

// is reports whether its caller refers to the request by a raw id.
func (w *early) is(from string, id []byte) bool {
	own := w.env.Message.Get(jsonrpc.ID)
	return w.env.From == from && (bytes.Equal(own, id) || from == inflight.HostID && inflight.HostKey(own) == inflight.HostKey(id))
}

// withdrawn is the last word on a request whose caller does not want it any more.
func (w *early) withdrawn(why string) record.Record {
	return record.Record{Event: record.Withdrawn, Env: w.env.ID, From: w.env.From, Method: w.env.Method, Tool: refusal.Clip(toolOf(w.env)), Reason: why, Executed: string(refusal.No)}
}

// tooEarly has a request wait if the server may be up soon.
func (e *Engine) tooEarly(env *wire.Envelope) bool {
	if !e.hosted || e.server.up || e.server.retry < 0 || e.stopping || treatments[env.Method] == wrong {
		return false
	}
	if len(e.early) >= e.maxCalls {
		e.refuse(env, refusal.AtCapacity())
		return true
	}
	w := &early{env: env}
	w.alarm = e.alarms.set(e.now.Add(earlyWait), func() {
		e.early = slices.DeleteFunc(e.early, func(o *early) bool { return o == w })
		e.refuse(env, refusal.NotGreeted(earlyWait))
	})
	e.early = append(e.early, w)
	return true
}

// noLongerEarly goes on with the requests that waited for the server.
func (e *Engine) noLongerEarly() {
	waited := e.early
	e.early = nil
	for _, w := range waited {
		e.alarms.stop(w.alarm)
		e.serve(w.env, e.linked(w.env))
	}
}

// earlyTakenBack ends the early requests that a cancellation is about.
func (e *Engine) earlyTakenBack(from string, id []byte) (some bool) {
	e.early = slices.DeleteFunc(e.early, func(w *early) bool {
		if !w.is(from, id) {
			return false
		}
		some = true
		e.alarms.stop(w.alarm)
		e.note(w.withdrawn(approval.Cancelled))
		return true
	})
	return some
}

// staysHere reports whether a call that has started is done without a word to the
// server: the end of a subscription, for the client of the server may have one too,
// and to the server both are one. It is judged as everywhere.
func (e *Engine) staysHere(c *inflight.Call) bool {
	return e.hosted && c.Method == "resources/unsubscribe"
}

// unsubscribed ends a participant's subscription.
func (e *Engine) unsubscribed(c *inflight.Call, id []byte) {
	e.server.subscribers.remove(c.Key, c.From)
	done, err := jsonrpc.Parse(jsonrpc.AppendResult(nil, id, nil), jsonrpc.Passed)
	if err != nil {
		panic(err) // it is our own, with an id of our own
	}
	e.remove(c)
	e.deliver(c, &done)
}

// Occupied reports whether the server is at work for a participant, or may be:
// what nobody waits for any more counts for quitGrace.
func (e *Engine) Occupied() bool {
	for _, c := range e.calls.ByNumber {
		if c.Occupies() {
			return true
		}
	}
	return false
}
