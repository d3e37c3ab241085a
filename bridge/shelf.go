package bridge

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Bounds on what is held (RELIABILITY section 3).
const (
	heldMax      = 1000
	heldMaxBytes = 16 << 20
	heldFor      = 60 * time.Second // the minute: for a lost seat, or an absent addressee, to come back
)

// held is an answer that cannot leave. What is in its way is ours (a pause, a
// way out that is full) and costs it no time, or it is that the seat is lost or
// its addressee away: then it has a minute, which stands still during a pause.
//
// Its life is this file from top to bottom: hold takes it in, a mark or a minute
// may be put on it, release lets it out, loses it, or leaves it here.
type held struct {
	env      *wire.Envelope
	of       string    // the call whose end must be on record before env leaves; "": none, or it is there
	until    time.Time // its minute is over; zero: it has not begun
	unlisted bool      // the roster does not have its addressee, and so cannot say that they are away
}

// A shelf is where answers are held, in the order in which their minutes end;
// those that have none yet are the last.
type shelf struct {
	answers []held
	bytes   int
	leaving []string // requests to ourselves that leave in this Step, and may yet find the way full
	closed  bool     // nothing is held any more
}

func (s *shelf) put(h held) {
	s.answers = append(s.answers, h)
	s.bytes += size(h.env)
}

// remove takes an envelope out that need not leave any more.
func (s *shelf) remove(envelope string) {
	s.answers = slices.DeleteFunc(s.answers, func(h held) bool {
		if h.env.ID == envelope {
			s.bytes -= size(h.env)
		}
		return h.env.ID == envelope
	})
}

// delays reports whether one of these envelopes is held: what answers it must not
// overtake it.
func (s *shelf) delays(envelopes []string) bool {
	return slices.ContainsFunc(s.answers, func(h held) bool { return slices.Contains(envelopes, h.env.ID) })
}

// justLeaves reports whether one of these envelopes leaves in this very Step.
func (s *shelf) justLeaves(envelopes []string) bool {
	return slices.ContainsFunc(s.leaving, func(id string) bool { return slices.Contains(envelopes, id) })
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

// list notes whether a roster can say of somebody that they are away, and reports
// whether they have an answer here.
func (s *shelf) list(id string, unlisted bool) (waits bool) {
	for i := range s.answers {
		if h := &s.answers[i]; h.env.To[0] == id {
			h.unlisted, waits = unlisted, true
		}
	}
	return waits
}

// overflow takes out the oldest answers where there is no room for all.
func (s *shelf) overflow() (dropped []held) {
	for len(s.answers) > heldMax || s.bytes > heldMaxBytes {
		dropped = append(dropped, s.answers[0])
		s.bytes -= size(s.answers[0].env)
		s.answers = slices.Delete(s.answers, 0, 1)
	}
	return dropped
}

// mark puts another in place of each answer to one of these calls.
func (s *shelf) mark(ends []string, as func(*wire.Envelope) *wire.Envelope) {
	for i := range s.answers {
		h := &s.answers[i]
		if h.of == "" || !slices.Contains(ends, h.of) {
			continue
		}
		s.bytes -= size(h.env)
		h.env = as(h.env)
		s.bytes += size(h.env)
	}
}

// size is about how long the payload of a frame will be.
func size(env *wire.Envelope) int { return max(len(env.Payload), len(env.Message.Raw)) }
