package proposal

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// A proposal that was ours to serve, and that somebody else took without success, becomes
// ours again. Otherwise anybody who knows its id could end it by taking it (FINDINGS M9).

// KeepEnvelope keeps env, the proposal or the request that was made of it, while somebody else
// serves it, to be judged again if that fails.
func (b *Book) KeepEnvelope(l *Life, env *wire.Envelope) {
	if l.State == Running || l.State == Claimed {
		b.keepForReopen(l, env)
	}
}

// keepUnjudged does the same for what somebody else takes before it was judged: it still waits
// for others or for the server to come up, and nobody but the Book has it.
func (b *Book) keepUnjudged(l *Life) { b.keepForReopen(l, l.Envelope) }

func (b *Book) mayReopen(l *Life) bool {
	return l.kept != nil && l.State.after(reopened) != l.State
}

func (b *Book) reopen(l *Life) {
	runner := l.Runner
	env := b.dropKept(l)
	l.Envelope = env
	again := reopened
	if l.turnAt.After(b.now) && l.waitsForSomebody() {
		again = requeued
	}
	b.move(l, again)
	b.forgetRun(l)
	l.Run, l.By, l.Runner = "", "", ""
	l.reopened++
	b.do(Noted{Life: l, Event: record.Reopened, By: runner})
	if l.Overdue(b.now) {
		b.expire(l)
		return
	}
	if l.State == Waiting {
		l.waits = l.turnAt
		b.hold(l, env) // there is room: dropKept gave it up just now
		b.wakeFor(l)
		return
	}
	b.consider(l)
}
