package proposal

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// Tick lets time pass. Every event begins with it: the Book knows the time from
// nowhere else.
func (b *Book) Tick(now time.Time) []Act {
	b.now = now
	b.begin()
	if now.Sub(b.swept) >= sweepEvery {
		b.sweep()
	}
	if b.wake.IsZero() || b.wake.After(now) {
		return nil
	}
	b.wake = time.Time{}
	for _, l := range b.inOrder() {
		b.age(l)
		b.wakeFor(l)
	}
	return b.out
}

// age does what time alone does to a proposal.
func (b *Book) age(l *Life) {
	if at := l.next(); at.IsZero() || at.After(b.now) {
		return
	}
	if over := !l.Until.IsZero() && !l.Until.After(b.now); over {
		b.move(l, overdue)
		b.do(Noted{Life: l, Event: record.Expired, Reason: "ttl", Moot: true})
		if l.Announced {
			b.do(Refused{Life: l, Reason: Timeout, Detail: "ttl", Told: true})
		}
		return
	}
	b.move(l, due)
	b.consider(l)
}

// wakeFor sees to it that the Book wakes in time for a proposal.
func (b *Book) wakeFor(l *Life) {
	if b.lives[key{l.Proposer, l.ID}] == l {
		b.wake = earliest(b.wake, l.next())
	}
}

// move does what an event does to a proposal, and reports whether that is
// anything.
func (b *Book) move(l *Life, ev event) bool {
	to := l.State.after(ev)
	if to == l.State {
		return false
	}
	if l.State == Waiting && !l.waits.IsZero() {
		b.bytes -= l.size()
		l.waits = time.Time{}
	}
	if to != Running && to != Claimed {
		b.unlend(l)
	}
	l.State = to
	l.slim()
	if to.Over() {
		l.ended = b.now
	}
	b.wakeFor(l)
	return true
}

// enter makes room for a proposal, and reports false if there is none: the
// oldest that are over go first, then the oldest that others may serve.
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

// sweep forgets what has been over for long, and what others have not served.
func (b *Book) sweep() {
	b.swept = b.now
	for _, l := range b.lives {
		if l.State.Over() && b.now.Sub(l.ended) >= b.o.Keep || l.State == Watched && b.now.Sub(l.since) >= watchedFor ||
			l.State == Running && b.now.Sub(l.taken) >= watchedFor {
			b.forget(l)
		}
	}
}

// inOrder are all lives, the oldest first.
func (b *Book) inOrder() []*Life {
	return slices.SortedFunc(maps.Values(b.lives), func(x, y *Life) int { return cmp.Compare(x.order, y.order) })
}

func (b *Book) forget(l *Life) {
	delete(b.lives, key{l.Proposer, l.ID})
	b.forgetRun(l)
	b.unlend(l)
	b.byID[l.ID] = slices.DeleteFunc(b.byID[l.ID], func(o *Life) bool { return o == l })
	if len(b.byID[l.ID]) == 0 {
		delete(b.byID, l.ID)
	}
	if b.each[l.Proposer]--; b.each[l.Proposer] == 0 {
		delete(b.each, l.Proposer)
	}
}
