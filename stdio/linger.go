package stdio

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	lingerMost = 60 * time.Microsecond // about what it takes to go to sleep and be woken, on a bad day
	mostMisses = 10                    // in a row; more make it no worse
)

// Linger stays awake until the server says something, for 60 µs at most. It is
// for whoever has flushed a request and has nothing else to do: to sleep and be
// woken takes as long as many a server takes for its answer, and longer where the
// processor has gone to sleep too. Nothing is read, so it is a matter of speed
// alone. Meanwhile the caller keeps its thread to itself.
//
// It returns at once where
//   - no server is up, or nothing was put since it was last called;
//   - there is one processor only, so that the answer could not be worked on
//     beside us, or the system is not Linux;
//   - the server has been too slow: the next request is not waited for after one
//     time, 3 are not after the second in a row, 7 after the third, and so on to
//     1023 after the tenth and each one that follows.
//
// Any goroutine may call it; while one lingers, it returns at once to the others.
func (s *Server) Linger() {
	if c := s.child.Load(); c != nil {
		c.linger.wait()
	}
}

// A linger is the experience with one server process.
type linger struct {
	asked atomic.Bool // something was put since the last wait began

	mu     sync.Mutex
	speaks func(within time.Duration) bool // reports whether there is something to read; nil: not to be waited for
	misses int                             // in a row
	skip   int                             // how many of the next waits are not worth it
}

func (l *linger) wait() {
	if !l.asked.Swap(false) || !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	switch {
	case l.speaks == nil:
	case l.skip > 0:
		l.skip--
	case l.speaks(lingerMost):
		l.misses = 0
	default:
		l.misses = min(l.misses+1, mostMisses)
		l.skip = 1<<l.misses - 1
	}
}

// end is for whoever is about to close what is listened to. While somebody
// listens, closing it would be left to them; and a server that holds the pipe can
// make that take as long as it likes (see letGo).
func (l *linger) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.speaks = nil
}
