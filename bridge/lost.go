package bridge

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
	l := lostAnswer{reason: reason}
	for _, c := range e.calls.inOrder() {
		if c.origin != inflight.Host && c != e.server.listens.call {
			l.among = append(l.among, c.number)
		}
	}
	if len(l.among) == 0 {
		return
	}
	if len(e.calls.lost) == lostMost {
		e.calls.lost = e.calls.lost[1:]
	}
	e.calls.lost = append(e.calls.lost, l)
	e.attribute()
}

// stillLost: one call less that a lost answer may have been for.
func (e *Engine) stillLost(number uint64) {
	for i := range e.calls.lost {
		l := &e.calls.lost[i]
		if at, has := slices.BinarySearch(l.among, number); has {
			l.among = slices.Delete(l.among, at, at+1)
		}
	}
	e.attribute()
}

// attribute ends the calls of which it is certain by now that a lost answer was
// theirs: those of a set for which as many were lost as are in it.
func (e *Engine) attribute() {
	for _, l := range e.calls.lost {
		within := func(other lostAnswer) bool { return other.newest() <= l.newest() }
		certain := 0
		for _, other := range e.calls.lost {
			if within(other) {
				certain++
			}
		}
		if certain < len(l.among) {
			continue
		}
		e.calls.lost = slices.DeleteFunc(slices.Clone(e.calls.lost), within)
		for _, n := range l.among {
			if c := e.calls.byNumber[n]; c != nil {
				e.unreadable(c, l.reason)
			}
		}
		return // to end a call is to look again
	}
}

// unreadable ends a call whose answer came and cannot be read.
func (e *Engine) unreadable(c *call, reason string) {
	if c.origin == inflight.Self {
		e.remove(c)
		e.hear(c, nil)
		return
	}
	e.finishUnanswered(c, refusal.AnswerUnreadable(reason))
}
