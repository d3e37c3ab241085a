package outbox

import (
	"context"
	"time"
)

// Flush sees to it that everything put so far gets written, and returns without
// waiting for that.
func (b *Outbox) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flushLocked()
}

// Relieve is Flush for whoever finds the Outbox full. Where another goroutine is in
// its Flush to a socket, it waits for that: the other end may take all there is, and
// the goroutine that gives it that may only not have had the processor.
func (b *Outbox) Relieve() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.brief {
		b.over.Wait()
	}
	b.flushLocked()
}

func (b *Outbox) flushLocked() {
	if b.writing || b.err != nil || b.queue.empty() {
		return
	}
	b.writing = true
	if b.direct != nil && b.writeBrieflyLocked() {
		b.restLocked()
		return
	}
	b.drainLocked()
}

func (b *Outbox) writeBrieflyLocked() (nothingMore bool) {
	b.brief = b.direct.socket
	nothingMore = b.writeReadyLocked()
	b.brief = false
	b.over.Broadcast()
	return nothingMore
}

// rounds is how often one Flush writes what others put in the meantime.
const rounds = 8

// writeReadyLocked writes what can be written without blocking. It reports
// whether there is nothing more to do. The lock is not held during the writes.
func (b *Outbox) writeReadyLocked() bool {
	for range rounds {
		pieces, size := b.queue.peek(b.direct.pieces[:0])
		b.flying = size
		b.watchOverLocked()
		b.mu.Unlock()
		n, err := b.direct.write(pieces)
		b.mu.Lock()
		b.since = time.Time{}
		b.landedLocked(n)
		if b.err != nil {
			return true
		}
		if err != nil {
			b.failLocked(err)
			return true
		}
		if b.queue.empty() {
			return true
		}
		if n < size {
			return false
		}
	}
	return false
}

// watchOverLocked sees to it that a write of Flush to a pipe, which waits for as
// long as the other end holds the pipe's lock (see package inbox), is noticed when
// Options.Deadline is over. One timer does for many writes.
func (b *Outbox) watchOverLocked() {
	if b.direct.socket {
		return
	}
	b.since = time.Now()
	if b.alert == nil {
		b.alert = time.AfterFunc(b.o.Deadline, b.look)
	}
}

// look fails the Outbox if the write of Flush under way has taken too long.
func (b *Outbox) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.alert = nil
	switch left := b.o.Deadline - time.Since(b.since); {
	case b.since.IsZero():
	case left > 0:
		b.alert = time.AfterFunc(left, b.look)
	default:
		b.giveUpLocked()
	}
}

// Wait returns when at most so many bytes are not written: it is for one who
// would rather be slowed down than be told ErrFull. If there are more, it flushes
// first. The error is the one that ended the writing, or the cause of ctx.
func (b *Outbox) Wait(ctx context.Context, bytes int) error {
	for flushed := false; ; {
		room, err := b.roomFor(bytes)
		if room == nil {
			return err
		}
		if !flushed {
			flushed = true
			b.Flush()
			continue // what was flushed may have closed room already
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// roomFor returns a channel that is closed when more has been written, or nil
// if nobody need wait for that.
func (b *Outbox) roomFor(bytes int) (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, left := b.queue.size(); b.err != nil || left <= bytes {
		return nil, b.err
	}
	if b.room == nil {
		b.room = make(chan struct{})
	}
	return b.room, nil
}
