package outbox

import (
	"context"
	"time"
)

// Flush begins to write everything that was put so far, and does not wait for the other end
// to take it. Only a pipe whose lock the other end holds can delay it; see the package comment.
func (b *Outbox) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flushLocked()
}

// Relieve is Flush for a caller that finds the Outbox full. If another goroutine is in a
// Flush to a socket, Relieve waits for it first, since that may make room; such a Flush does
// not wait for the other end.
func (b *Outbox) Relieve() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.flushing {
		b.flushEnded.Wait()
	}
	b.flushLocked()
}

func (b *Outbox) flushLocked() {
	if b.writing || b.err != nil || b.queue.empty() {
		return
	}
	b.writing = true
	if b.direct != nil && b.writeBrieflyLocked() {
		b.endTurnLocked()
		return
	}
	b.drainLocked()
}

func (b *Outbox) writeBrieflyLocked() (nothingMore bool) {
	b.flushing = b.direct.socket
	nothingMore = b.writeReadyLocked()
	if b.flushing {
		b.flushing = false
		b.flushEnded.Broadcast()
	}
	return nothingMore
}

// rounds is how often one Flush writes what others put in the meantime.
const rounds = 8

// writeReadyLocked writes what can be written without blocking. It reports
// whether there is nothing more to do. The lock is not held during the writes.
func (b *Outbox) writeReadyLocked() bool {
	for range rounds {
		pieces, size := b.queue.peek(b.direct.pieces[:0])
		b.inFlight = size
		if !b.direct.socket { // a pipe waits for as long as the other end holds its lock (see package inbox)
			b.watchLocked(0)
		}
		b.mu.Unlock()
		n, err := b.direct.write(pieces)
		b.mu.Lock()
		b.began = time.Time{}
		b.noteWrittenLocked(n)
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
