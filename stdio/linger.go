package stdio

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	lingerMost = 60 * time.Microsecond // about what it takes to go to sleep and be woken, on a bad day
	mostMisses = 10                    // in a row, that count
)

// Linger stays awake for what the server says next, for 60 µs at most. It is
// for whoever has flushed a request and has nothing else to do: to sleep and be
// woken takes as long as many a server takes for its answer, and longer where the
// processor has gone to sleep too. Nothing is read, so it is a matter of speed
// alone. Meanwhile the caller keeps its thread to itself.
//
// It returns at once where nothing was put since it was last called; where the
// answer could not be worked on beside us, for there is one processor only; and
// for a server that has been slower before: for 1 request after the first time,
// 3 after the second in a row, and 1023 after the tenth and all others.
//
// Any goroutine may call it; two at a time do not linger both.
func (s *Server) Linger() {
	if c := s.child.Load(); c != nil {
		c.linger.wait()
	}
}

// A linger is the experience with one server process.
type linger struct {
	asked atomic.Bool // something was put since the last wait

	mu     sync.Mutex
	speaks func(within time.Duration) bool // reports whether there is something to read; nil: nobody can tell
	misses int                             // in a row
	skip   int                             // waits that are not worth it
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
