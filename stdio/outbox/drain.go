package outbox

import (
	"errors"
	"io"
	"os"
	"time"
)

// maxPiece is the most that is written at a time where no progress can be seen
// within a write: so much must be taken within Options.Deadline.
const maxPiece = 256 << 10

// drainLocked leaves the writing to a goroutine.
func (b *Outbox) drainLocked() {
	b.writing = true
	go b.drain()
}

// drain writes until nothing is queued. It runs while there is a backlog, at
// most once at a time, and has b.writing for itself.
func (b *Outbox) drain() {
	for {
		piece, ok := b.next()
		if !ok {
			return
		}
		n, err := b.w.Write(piece)
		b.wrote(n, err)
	}
}

// next returns what is to be written next. When there is nothing it ends the
// turn and reports false.
func (b *Outbox) next() ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil && !b.queue.empty() {
		b.limitLocked()
		piece := b.queue.front()
		b.inFlight = min(len(piece), maxPiece)
		return piece[:b.inFlight], true
	}
	if b.deadline != nil {
		b.deadline.SetWriteDeadline(time.Time{}) // or it would hold for Flush too
	}
	b.endTurnLocked()
	return nil, false
}

// wrote takes the outcome of one write.
func (b *Outbox) wrote(n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.began = time.Time{}
	b.noteWrittenLocked(n)
	if b.err != nil {
		return
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && n > 0: // slow, not stuck
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.failLocked(b.noProgress())
	case err != nil:
		b.failLocked(err)
	case n == 0:
		b.failLocked(io.ErrShortWrite)
	}
}

// limitLocked has the write of drain that follows, or that is under way, end in time, and
// fails the Outbox if it does not: w may have no deadlines, or be a pipe whose lock the
// other end holds, which outlasts them.
func (b *Outbox) limitLocked() {
	if b.deadline == nil {
		b.watchLocked(0)
		return
	}
	b.deadline.SetWriteDeadline(time.Now().Add(b.o.Deadline)) // if it fails, the write says what is wrong
	b.watchLocked(grace)
}

// watchLocked has checkWrite called when Options.Deadline and late are over. One timer serves
// many writes.
func (b *Outbox) watchLocked(late time.Duration) {
	sooner := late < b.late
	b.began, b.late = time.Now(), late
	switch {
	case b.watch == nil:
		b.watch = time.AfterFunc(b.o.Deadline+late, b.checkWrite)
	case sooner:
		b.watch.Reset(b.o.Deadline + late)
	}
}

// checkWrite fails the Outbox if the write under way has taken too long.
func (b *Outbox) checkWrite() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watch = nil
	switch left := b.o.Deadline + b.late - time.Since(b.began); {
	case b.began.IsZero():
	case left > 0:
		b.watch = time.AfterFunc(left, b.checkWrite)
	default:
		b.giveUpLocked()
	}
}
