package node

import (
	"context"
	"sync"
)

// together runs every part until the first one returns, then cancels the rest
// with that error as the cause and waits for them all.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, part := range parts {
		running.Go(func() { cancel(part(ctx)) })
	}
	running.Wait()
	return context.Cause(ctx)
}

// A latch is set once, by whoever does so first, and stays so.
type latch struct {
	set  chan struct{} // closed then
	once *sync.Once
}

func newLatch() latch { return latch{make(chan struct{}), new(sync.Once)} }

func (l latch) isSet() bool {
	select {
	case <-l.set:
		return true
	default:
		return false
	}
}

func (l latch) close() { l.once.Do(func() { close(l.set) }) }
