package bridge

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Bounds on what is held (RELIABILITY section 3).
const (
	heldMax      = 1000
	heldMaxBytes = 16 << 20
	heldFor      = 60 * time.Second       // the minute: for a lost seat, or an absent addressee, to come back
	resendAfter  = 250 * time.Millisecond // when an answer for which the way out was full is sent again
)

// held is an answer that cannot leave. What is in its way is ours (a pause, a
// way out that is full) and costs it no time, or it is that the seat is lost or
// its addressee away: then it has a minute, which stands still during a pause.
//
// Its life is this file from top to bottom: hold takes it in, mark and the
// minute may change it, release lets it out, loses it, or leaves it here.
type held struct {
	env      *wire.Envelope
	of       string    // the call whose end must be on record before env leaves; "": none, or it is there
	until    time.Time // its minute is over; zero: it has not begun
	unlisted bool      // the roster does not have its addressee, and so cannot say that they are away
}

// A shelf is where answers are held, in the order in which their minutes end.
type shelf struct {
	answers []held
	bytes   int
	look    *alarm // when release is due without another event
}

func (s *shelf) put(h held) {
	s.answers = append(s.answers, h)
	s.bytes += size(h.env)
}

// hold takes an answer in; of is that of held.
func (e *Engine) hold(env *wire.Envelope, of string) {
	s := &e.room.held
	s.put(held{env: env, of: of, unlisted: e.room.seated && e.room.peers[env.To[0]] == nil})
	if !e.room.seated {
		s.beginMinutes(e.now)
	}
	for len(s.answers) > heldMax || s.bytes > heldMaxBytes {
		oldest := s.answers[0]
		s.bytes -= size(oldest.env)
		s.answers = slices.Delete(s.answers, 0, 1)
		e.lose(oldest, "outbox_full")
	}
}

// notSent hears of a frame that the seat did not take. An answer is held, and
// soon tried again, unless no frame could ever hold it.
func (e *Engine) notSent(ev NotSent) {
	switch {
	case ev.Send.Class == wire.Reply && (ev.Gone || len(ev.Send.Frame) <= jsonrpc.MaxSize):
		e.hold(ev.Send.Envelope, "") // its end is on record: it was on its way
		if e.room.seated {
			e.lookAgain(e.now.Add(resendAfter))
		}
	case ev.Gone || ev.Send.Class == wire.Progress:
	default:
		e.note(Record{Event: "dropped", Reason: "way_out_full", Method: ev.Send.Envelope.Method,
			Detail: "the gateway does not take frames as fast as they come"})
	}
}

// markHeld says in the answers to these calls that the record ends before them.
func (e *Engine) markHeld(ends []string) {
	s := &e.room.held
	for i := range s.answers {
		h := &s.answers[i]
		if h.of == "" || !slices.Contains(ends, h.of) {
			continue
		}
		s.bytes -= size(h.env)
		h.env = incomplete(h.env)
		s.bytes += size(h.env)
	}
}

// beginMinutes gives a minute to each answer that has none.
func (s *shelf) beginMinutes(now time.Time) {
	for i := range s.answers {
		if h := &s.answers[i]; h.until.IsZero() {
			h.until = now.Add(heldFor)
		}
	}
}

// stoodStill puts off the ends of all minutes by the length of a pause.
func (s *shelf) stoodStill(pause time.Duration) {
	for i := range s.answers {
		if h := &s.answers[i]; !h.until.IsZero() {
			h.until = h.until.Add(pause)
		}
	}
}

// seatLost: everybody who waits has a minute from now on, and who is here is not
// known any more.
func (s *shelf) seatLost(now time.Time) {
	s.beginMinutes(now)
	for i := range s.answers {
		s.answers[i].unlisted = false
	}
}

// release looks at all that is held, if we may speak: when the seat is back, when
// somebody joins, when a pause ends, and when time has passed. An answer leaves if
// its addressee is here, and is lost if its minute is over.
func (e *Engine) release() {
	if !e.room.seated || e.room.paused != nil {
		return
	}
	s := &e.room.held
	waiting := s.answers
	s.answers, s.bytes = nil, 0
	for _, h := range waiting {
		to := h.env.To[0]
		p := e.room.peers[to]
		switch here := p != nil && p.leaving == nil || p == nil && h.unlisted || to == e.room.me; {
		case !h.until.IsZero() && !e.now.Before(h.until):
			e.lose(h, "caller_gone")
		case here:
			e.sendOf(wire.Reply, h.env, h.of)
		default:
			s.put(h)
		}
	}
	s.beginMinutes(e.now)
	e.alarms.stop(s.look)
	if len(s.answers) > 0 {
		e.lookAgain(s.answers[0].until)
	}
}

func (e *Engine) lookAgain(at time.Time) {
	e.alarms.stop(e.room.held.look)
	e.room.held.look = e.alarms.set(at, e.release)
}

// lose gives an answer up.
func (e *Engine) lose(h held, why string) {
	e.note(Record{Event: "dropped", From: h.env.To[0], Env: h.env.Corr[0], Method: h.env.Method, Reason: why,
		Detail: "an answer could not be delivered"})
}
