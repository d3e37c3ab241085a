package outbox

import (
	"context"
	"fmt"
	"time"
)

// Close stops accepting, writes what was put before and returns when that is
// done, has failed, or ctx ends; then it gives up what is left. It returns nil
// if everything was written. No goroutine of the Outbox is left then but
// the one that calls OnFail, and where w has no write deadlines a write that the
// other end does not take, which lingers until w is closed. Close may be called again.
func (b *Outbox) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closing = true
	defer b.stopWatch()
	if !b.writing && b.err == nil && !b.queue.empty() {
		b.drainLocked()
	}
	b.endLocked()
	b.mu.Unlock()
	select {
	case <-b.done:
	case <-ctx.Done():
		b.abandon(context.Cause(ctx))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, bytes := b.queue.size(); bytes == 0 && !b.uncertain {
		return nil
	}
	return b.err
}

// SetDeadline makes Options.Deadline another one, also for a write that is under way.
func (b *Outbox) SetDeadline(deadline time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	b.o.Deadline = deadline
	if b.late > 0 && !b.began.IsZero() {
		b.limitLocked()
	}
	if b.watch != nil {
		b.watch.Reset(deadline + b.late)
	}
}

// stopWatch stops the timer of checkWrite: after Close it is not needed.
func (b *Outbox) stopWatch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watch != nil {
		b.watch.Stop()
		b.watch = nil
	}
}

// abandon gives up what is queued, interrupts a write under way and waits for
// it, unless w cannot be interrupted.
func (b *Outbox) abandon(cause error) {
	if b.interrupt(cause) {
		select {
		case <-b.done:
			b.deadline.SetWriteDeadline(time.Time{}) // the caller may still want to write
			return
		case <-time.After(grace):
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stuck = true // or who calls Close again would wait for that write
	b.abandonWriteLocked()
	b.endLocked()
}

// interrupt reports whether a write under way has been told to end.
func (b *Outbox) interrupt(cause error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil && (b.writing || !b.queue.empty()) {
		_, bytes := b.queue.size()
		b.err = fmt.Errorf("outbox closed with %d bytes unwritten: %w", bytes, cause)
		b.queue.drop()
		b.wakeLocked()
	}
	b.endLocked()
	return b.deadline != nil && b.deadline.SetWriteDeadline(time.Unix(1, 0)) == nil
}
