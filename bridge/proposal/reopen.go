package proposal

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// What somebody else takes up, and which comes to nothing, is ours to serve again
// if it was before: else whoever knows an id could end the proposal behind it
// (FINDINGS M9).

// reopenedMost is how often one proposal comes back to us.
const reopenedMost = 16

// Lent keeps what was put to us while somebody else has it. env is the proposal,
// or the request that was made of it.
func (b *Book) Lent(l *Life, env *wire.Envelope) {
	if l.State == Running || l.State == Claimed {
		b.lend(l, env)
	}
}

func (b *Book) lend(l *Life, env *wire.Envelope) {
	if env == nil || l.lent != nil || l.reopened >= reopenedMost || b.bytes+len(env.Payload) > b.o.MaxBytes {
		return
	}
	l.lent = env
	b.bytes += len(env.Payload)
}

// unlend lets go of it.
func (b *Book) unlend(l *Life) *wire.Envelope {
	env := l.lent
	if env != nil {
		b.bytes -= len(env.Payload)
		l.lent = nil
	}
	return env
}

func (b *Book) mayReopen(l *Life) bool {
	return l.lent != nil && l.State.after(reopened) != l.State
}

func (b *Book) reopen(l *Life) {
	runner := l.Runner
	env := b.unlend(l)
	l.Envelope = env
	again := reopened
	if l.turnAt.After(b.now) {
		again = requeued
	}
	b.move(l, again)
	b.forgetRun(l)
	l.Run, l.By, l.Runner = "", "", ""
	l.reopened++
	b.do(Noted{Life: l, Event: record.Reopened, By: runner})
	if !l.Until.IsZero() && !l.Until.After(b.now) {
		b.move(l, overdue)
		b.do(Noted{Life: l, Event: record.Expired, Reason: "ttl"})
		return
	}
	if l.State == Waiting {
		l.waits = l.turnAt
		b.bytes += l.size()
		b.wakeFor(l)
		return
	}
	b.consider(l)
}

// Nobody: the gateway says that nobody was there for a request. It may speak of another
// frame of that id, so that says nothing of whom it knows to be here (here), nor of who
// makes the request of themselves (FINDINGS A8).
func (b *Book) Nobody(run string, here func(who string) bool) []Act {
	b.begin()
	for _, l := range slices.Clone(b.runs[run]) {
		if (l.State == Running || l.State == Claimed) && l.Runner != l.By && !here(l.Runner) {
			b.end(l, Unserved)
		}
	}
	return b.out
}
