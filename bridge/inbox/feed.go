package inbox

import (
	"context"
	"iter"
	"sync"
)

// feedRoom is how far a watcher may fall behind.
const feedRoom = 256

// A Feed hands events to whoever watches and waits for none of them. The zero
// Feed is ready.
type Feed struct {
	mu       sync.Mutex
	watchers map[chan Event]struct{}
	closed   bool
}

// Post hands an event to every watcher. Who has no room for it is dropped.
func (f *Feed) Post(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		select {
		case w <- e:
		default:
			delete(f.watchers, w)
			close(w)
		}
	}
}

// Watch is that of [Inbox].
func (f *Feed) Watch(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := f.add()
		defer f.drop(w)
		for e, ok := (Event{}), true; ok && yield(e, nil); {
			select {
			case e, ok = <-w:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *Feed) add() chan Event {
	w := make(chan Event, feedRoom)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		close(w)
		return w
	}
	if f.watchers == nil {
		f.watchers = map[chan Event]struct{}{}
	}
	f.watchers[w] = struct{}{}
	return w
}

func (f *Feed) drop(w chan Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.watchers[w]; ok {
		delete(f.watchers, w)
		close(w)
	}
}

// Close drops all watchers, now and later.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for w := range f.watchers {
		close(w)
	}
	clear(f.watchers)
}
