package engine

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

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

// cancelAwaiting ends the awaiting requests that a cancellation is about.
func (e *Engine) cancelAwaiting(from string, id []byte) bool {
	return e.withdrawAwaiting(approval.Cancelled, func(w *awaiting) bool { return w.is(from, id) })
}

// is reports whether its caller refers to the request by a raw id.
func (w *awaiting) is(from string, id []byte) bool {
	own := w.env.Message.Get(jsonrpc.ID)
	return w.env.From == from && (bytes.Equal(own, id) || from == inflight.HostID && inflight.HostKey(own) == inflight.HostKey(id))
}
