package proposal

import "time"

// How long a proposal is remembered that others may serve, or serve already; and how often
// the Book looks for what it can forget.
const (
	watchedFor = time.Hour
	sweepEvery = time.Minute
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

// age ends a proposal whose time is over, or considers it when it is our turn.
func (b *Book) age(l *Life) {
	if at := l.next(); at.IsZero() || at.After(b.now) {
		return
	}
	if l.Overdue(b.now) {
		b.expire(l)
		return
	}
	b.move(l, due)
	b.consider(l)
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
