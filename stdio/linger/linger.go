// Package linger waits awake for what is about to come.
//
// To sleep and be woken takes as long as many an answer takes, and longer where the
// processor has gone to sleep too. So whoever has said something that is answered
// within microseconds, and has nothing else to do, does better to stay awake for it.
// Nothing is read, so it is a matter of speed alone: without it, calls of 96 KiB made one
// after the other (make bench) have a median that is 6 to 8 % worse on a quiet machine,
// and small ones up to 5 %. On a machine whose processors all have work it buys nothing.
package linger

import (
	"io"
	"runtime"
	"sync"
	"time"
)

const (
	most       = 60 * time.Microsecond // about what it takes to go to sleep and be woken, on a bad day
	mostMisses = 10                    // in a row; more make it no worse
)

// A Linger waits for one peer and remembers how quick it was. A nil one never waits.
type Linger struct {
	mu     sync.Mutex
	hear   func(within time.Duration) bool // nil after End
	misses int                             // in a row
	skip   int                             // how many of the next waits are not worth it
}

// On returns the Linger that waits until there is something to read from r, which
// stays the caller's to close. It is nil, and never waits, where [Ear] has none for
// r, and where there is one processor only: nothing could be said beside us.
func On(r io.Reader) *Linger {
	if runtime.NumCPU() == 1 {
		return nil
	}
	return New(Ear(r))
}

// New returns the Linger that waits with hear, which reports whether it heard
// something in that time; nil where hear is. Programs take [On]; New is for tests.
func New(hear func(within time.Duration) bool) *Linger {
	if hear == nil {
		return nil
	}
	return &Linger{hear: hear}
}

// Wait stays awake until there is something to hear, for 60 µs at most, and reports
// whether it listened at all. Meanwhile no other goroutine has its thread. It returns at
// once where the peer has been too slow: what comes next is not waited for after one
// time, 3 are not after the second in a row, 7 after the third, and so on to 1023
// after the tenth and each one that follows.
//
// Any goroutine may call it; while one waits, it returns at once to the others.
func (l *Linger) Wait() bool {
	if l == nil || !l.mu.TryLock() {
		return false
	}
	defer l.mu.Unlock()
	switch {
	case l.hear == nil:
		return false
	case l.skip > 0:
		l.skip--
		return false
	case l.hear(most):
		l.misses = 0
	default:
		l.misses = min(l.misses+1, mostMisses)
		l.skip = 1<<l.misses - 1
	}
	return true
}

// End is for whoever is about to close a pipe that is listened to: when it returns,
// after 60 µs at most, nobody listens, nor will. While somebody does, closing it
// would be left to them; and the other end of a pipe can make that take as long as it
// likes, by holding its lock. The owner of a socket need not call it.
func (l *Linger) End() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hear = nil
}
