package outgoing

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Bounds on what is held (RELIABILITY section 3).
const (
	heldMax      = 1000
	HeldMaxBytes = 16 << 20
	HeldFor      = 60 * time.Second // the minute: for a lost seat, or an absent addressee, to come back
)

// Held is an answer that cannot leave. What is in its way is ours (a pause, a
// way out that is full) and costs it no time, or it is that the seat is lost or
// its addressee away: then it has a minute, which stands still during a pause.
//
// [Queue.Put] takes it in, a mark or a minute may be put on it, and the Engine's release
// lets it out, loses it, or leaves it here.
type Held struct {
	Env      *wire.Envelope
	Of       string    // the call whose end must be on record before Env leaves; "": none, or it is there
	Until    time.Time // its minute is over; zero: it has not begun
	Unlisted bool      // the roster does not have its addressee, and so cannot say that they are away
}

// A Queue is where answers are held, in the order in which their minutes end;
// those that have none yet are the last.
type Queue struct {
	Answers []Held
	Bytes   int
	Leaving []string // requests to ourselves that leave in this Step, and may yet find the way full
	Closed  bool     // nothing is held any more
}

// Put takes an answer in.
func (s *Queue) Put(h Held) {
	s.Answers = append(s.Answers, h)
	s.Bytes += Size(h.Env)
}

// Drop takes an envelope out that need not leave any more.
func (s *Queue) Drop(envelope string) {
	s.Answers = slices.DeleteFunc(s.Answers, func(h Held) bool {
		if h.Env.ID == envelope {
			s.Bytes -= Size(h.Env)
		}
		return h.Env.ID == envelope
	})
}

// Delays reports whether one of these envelopes is held: what answers it must not
// overtake it.
func (s *Queue) Delays(envelopes []string) bool {
	return slices.ContainsFunc(s.Answers, func(h Held) bool { return slices.Contains(envelopes, h.Env.ID) })
}

// JustLeaves reports whether one of these envelopes leaves in this very Step.
func (s *Queue) JustLeaves(envelopes []string) bool {
	return slices.ContainsFunc(s.Leaving, func(id string) bool { return slices.Contains(envelopes, id) })
}

// BeginMinutes gives a minute to each answer that has none.
func (s *Queue) BeginMinutes(now time.Time) {
	for i := range s.Answers {
		if h := &s.Answers[i]; h.Until.IsZero() {
			h.Until = now.Add(HeldFor)
		}
	}
}

// StoodStill puts off the ends of all minutes by the length of a pause.
func (s *Queue) StoodStill(pause time.Duration) {
	for i := range s.Answers {
		if h := &s.Answers[i]; !h.Until.IsZero() {
			h.Until = h.Until.Add(pause)
		}
	}
}

// Listed notes whether a roster can say of somebody that they are away, and reports
// whether they have an answer here.
func (s *Queue) Listed(id string, unlisted bool) (waits bool) {
	for i := range s.Answers {
		if h := &s.Answers[i]; h.Env.To[0] == id {
			h.Unlisted, waits = unlisted, true
		}
	}
	return waits
}

// Overflow takes out the oldest where there is no room for all: requests to ourselves first, as a
// claim that is lost costs nobody their answer.
func (s *Queue) Overflow() (dropped []Held) {
	for len(s.Answers) > heldMax || s.Bytes > HeldMaxBytes {
		i := max(0, slices.IndexFunc(s.Answers, func(h Held) bool { return h.Env.Kind == wire.Request }))
		dropped = append(dropped, s.Answers[i])
		s.Bytes -= Size(s.Answers[i].Env)
		s.Answers = slices.Delete(s.Answers, i, i+1)
	}
	return dropped
}

// Mark puts another in place of each answer to one of these calls.
func (s *Queue) Mark(ends []string, as func(*wire.Envelope) *wire.Envelope) {
	for i := range s.Answers {
		h := &s.Answers[i]
		if h.Of == "" || !slices.Contains(ends, h.Of) {
			continue
		}
		s.Bytes -= Size(h.Env)
		h.Env = as(h.Env)
		s.Bytes += Size(h.Env)
	}
}

// Size is about how long the payload of a frame will be.
func Size(env *wire.Envelope) int { return max(len(env.Payload), len(env.Message.Raw)) }
