package engine

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
)

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
		e.hear(c, nil)
		return
	}
	e.finishUnanswered(c, refusal.AnswerUnreadable(reason))
}
