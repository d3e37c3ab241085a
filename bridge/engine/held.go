package engine

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/outgoing"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// resendAfter is when an answer for which the way out was full is sent again.
const resendAfter = 250 * time.Millisecond

// hold takes an answer in; of is that of held.
func (e *Engine) hold(env *wire.Envelope, of string) {
	s := &e.room.held
	if s.Closed {
		e.lose(outgoing.Held{Env: env}, "shutting_down")
		return
	}
	s.Put(outgoing.Held{Env: env, Of: of, Unlisted: e.room.seated && e.room.peers[env.To[0]] == nil})
	if !e.room.seated {
		s.BeginMinutes(e.now)
		e.lookBy(s.Answers[0].Until)
	}
	e.keepBounds()
}

// notSent hears of a frame that the seat did not take. An answer is held, and
// soon tried again, unless no frame could ever hold it.
func (e *Engine) notSent(ev NotSent) {
	switch {
	case ev.Send.Class == wire.Reply && (ev.Gone || len(ev.Send.Frame) <= jsonrpc.MaxSize):
		e.claimReturns(ev.Send.Envelope.ID)
		e.hold(ev.Send.Envelope, "") // its end is on record: it was on its way
		if e.room.seated {
			e.lookBy(e.now.Add(resendAfter))
		}
	case ev.Gone || ev.Send.Class == wire.Progress:
	default:
		e.note(record.Record{Event: record.Dropped, Reason: "way_out_full", Method: ev.Send.Envelope.Method,
			Detail: "the gateway does not take frames as fast as they come"})
	}
}

// markHeld says in the answers to these calls that the record ends before them.
func (e *Engine) markHeld(ends []string) {
	e.room.held.Mark(ends, incomplete)
	e.keepBounds()
}

// keepBounds gives up the oldest answers where there is no room for all.
func (e *Engine) keepBounds() {
	for _, oldest := range e.room.held.Overflow() {
		e.lose(oldest, "outbox_full")
	}
}

// seatLost: everybody who waits has a minute from now on, and who is here is not
// known any more.
func (e *Engine) seatLost() {
	s := &e.room.held
	s.BeginMinutes(e.now)
	for i := range s.Answers {
		s.Answers[i].Unlisted = false
	}
	if len(s.Answers) > 0 {
		e.lookBy(s.Answers[0].Until)
	}
}

// release looks at all that is held, if we may speak: when the seat is back, when
// somebody is, when a pause ends, when we stop, and when time has passed. An answer
// leaves if its addressee is here, and is lost if its minute is over.
func (e *Engine) release() {
	s := &e.room.held
	if e.room.paused != nil || len(s.Answers) == 0 {
		return
	}
	waiting := *s
	s.Answers, s.Bytes = nil, 0
	soon := false
	for _, h := range waiting.Answers {
		over := !h.Until.IsZero() && !e.now.Before(h.Until)
		switch {
		case over && !e.mayReach(&h) && !e.anybodyHere(h.Env.To):
			e.lose(h, "caller_gone")
		case !over && !e.mayReach(&h):
			s.Put(h)
		case waiting.Delays(h.Env.Corr), s.JustLeaves(h.Env.Corr): // that is on its way now at the earliest, and may find it full
			s.Put(h)
			soon = true
		default:
			e.sendOf(wire.Reply, h.Env, h.Of)
		}
	}
	e.alarms.stop(e.room.look)
	if soon {
		e.lookBy(e.now.Add(resendAfter))
	} else if len(s.Answers) > 0 {
		s.BeginMinutes(e.now)
		e.lookBy(s.Answers[0].Until)
	}
}

// mayReach reports whether the first addressee of an answer, who waits for it, is
// here. When we stop we wait for nobody.
func (e *Engine) mayReach(h *outgoing.Held) bool {
	to := h.Env.To[0]
	return e.room.seated && (e.stopping || e.here(to) || h.Unlisted && e.room.peers[to] == nil)
}

// anybodyHere: when a minute is over, an answer leaves if one of several for whom
// it is, as a proposer beside its requester, is here.
func (e *Engine) anybodyHere(to []string) bool {
	return e.room.seated && len(to) > 1 && slices.ContainsFunc(to, func(id string) bool { return id != e.room.me && e.here(id) })
}

func (e *Engine) here(id string) bool {
	p := e.room.peers[id]
	return p != nil && p.leaving == nil || id == e.room.me
}

// Owes reports whether answers are held that we could give, were it not for a way
// out that is full.
func (e *Engine) Owes() bool { return e.room.seated && len(e.room.held.Answers) > 0 }

// lookBy has release look again, at the latest then.
func (e *Engine) lookBy(at time.Time) {
	if e.room.look.Stands() && !e.room.lookAt.After(at) {
		return
	}
	e.alarms.stop(e.room.look)
	e.room.look, e.room.lookAt = e.alarms.set(at, e.release), at
}

// takeLeave is the last chance; what cannot leave now is given up, as is what comes
// back for want of room, and an answer whose request leaves only now.
func (e *Engine) takeLeave() {
	e.listenNoMore()
	e.refuseAsides(func(*aside) bool { return true })
	e.release()
	s := &e.room.held
	e.alarms.stop(e.room.look)
	for _, h := range s.Answers {
		e.lose(h, "shutting_down")
	}
	s.Answers, s.Bytes, s.Closed = nil, 0, true
}

// lose gives an answer up.
func (e *Engine) lose(h outgoing.Held, why string) {
	e.note(record.Record{Event: record.Dropped, From: h.Env.To[0], Env: h.Env.Corr[0], Method: h.Env.Method, Reason: why,
		Detail: "an answer could not be delivered"})
}
