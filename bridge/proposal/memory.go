package proposal

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// wakeFor makes [Book.Next] early enough for a proposal.
func (b *Book) wakeFor(l *Life) {
	if b.lives[key{l.Proposer, l.ID}] == l {
		b.wake = earliest(b.wake, l.next())
	}
}

// move puts a proposal into the state that follows on an event, and reports whether that is
// another one.
func (b *Book) move(l *Life, ev event) bool {
	to := l.State.after(ev)
	if to == l.State {
		return false
	}
	if l.State == Waiting {
		l.turnAt, l.waits = l.waits, time.Time{}
	}
	if l.kept == nil || to != Running && to != Claimed { // also where nothing is kept: what waited had room
		b.dropKept(l)
	}
	l.State = to
	l.trim()
	if to.Over() {
		l.ended = b.now
	}
	b.wakeFor(l)
	return true
}

// enter puts a proposal into the Book, and reports false if there is no room: then the
// oldest that are over were forgotten, and the oldest that others may serve.
func (b *Book) enter(l *Life) bool {
	if b.each[l.Proposer] >= (b.o.Max+3)/4 && !b.evict(func(o *Life) bool { return o.Proposer == l.Proposer }) ||
		len(b.lives) >= b.o.Max && !b.evict(func(*Life) bool { return true }) {
		return false
	}
	b.count++
	l.order = b.count
	b.lives[key{l.Proposer, l.ID}] = l
	b.byID[l.ID] = append(b.byID[l.ID], l)
	b.each[l.Proposer]++
	return true
}

func (b *Book) evict(among func(*Life) bool) bool {
	var oldest *Life
	for _, l := range b.lives {
		if !among(l) || !l.State.Over() && l.State != Watched {
			continue
		}
		if oldest == nil || l.State.Over() && !oldest.State.Over() || l.State.Over() == oldest.State.Over() && l.order < oldest.order {
			oldest = l
		}
	}
	if oldest == nil {
		return false
	}
	b.forget(oldest)
	return true
}

// inOrder are all lives, the oldest first.
func (b *Book) inOrder() []*Life {
	return slices.SortedFunc(maps.Values(b.lives), func(x, y *Life) int { return cmp.Compare(x.order, y.order) })
}

func (b *Book) forget(l *Life) {
	delete(b.lives, key{l.Proposer, l.ID})
	b.forgetRun(l)
	b.dropKept(l)
	b.byID[l.ID] = slices.DeleteFunc(b.byID[l.ID], func(o *Life) bool { return o == l })
	if len(b.byID[l.ID]) == 0 {
		delete(b.byID, l.ID)
	}
	if b.each[l.Proposer]--; b.each[l.Proposer] == 0 {
		delete(b.each, l.Proposer)
	}
}

// hold gives l room for an envelope, nil for none, in place of the room that it has, and reports
// whether there is so much. One proposer has half of all at the most: by default as much as the
// largest frame takes.
func (b *Book) hold(l *Life, env *wire.Envelope) bool {
	more := -l.held
	if env != nil {
		more += len(env.Payload)
	}
	if more > 0 && (b.bytes+more > b.o.MaxBytes || b.bytesOf[l.Proposer]+more > b.o.MaxBytes/2) {
		return false
	}
	l.held += more
	b.bytes += more
	if b.bytesOf[l.Proposer] += more; b.bytesOf[l.Proposer] == 0 {
		delete(b.bytesOf, l.Proposer)
	}
	return true
}

// dropKept returns and forgets what keepForReopen kept, and gives up the room that l has.
func (b *Book) dropKept(l *Life) *wire.Envelope {
	env := l.kept
	l.kept = nil
	b.hold(l, nil)
	return env
}

func (b *Book) keepForReopen(l *Life, env *wire.Envelope) {
	if env != nil && l.kept == nil && l.reopened < maxReopened && b.hold(l, env) {
		l.kept = env
	}
}

// maxReopened is how often one proposal comes back to us.
const maxReopened = 16

func (b *Book) forgetRun(l *Life) {
	b.runs[l.Run] = slices.DeleteFunc(b.runs[l.Run], func(o *Life) bool { return o == l })
	if len(b.runs[l.Run]) == 0 {
		delete(b.runs, l.Run)
	}
}
