// Package outbox writes to one descriptor, in order, and never makes the
// caller wait.
//
// What is put is only noted. It is written when the caller, about to wait for
// something else, calls Flush: everything that is ready goes out in one system
// call. What the other end does not take at once is left to a goroutine that
// lives until the backlog is gone:
//
//	Put, Put, Put -> Flush -> one write(2), not blocking
//	                   `-> would block: drain -> w.Write, under a deadline
//
// Nobody waits for a slow peer, and a stuck one is an error. Who has the other end
// of a pipe can hold its lock, and then Flush does wait; that is an error too once
// the deadline is over.
package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

var (
	// ErrFull is what Put returns when the other end has not read for so
	// long that a limit is reached. Nothing of that Put is kept.
	ErrFull = errors.New("outbox full: the other end does not read fast enough")

	// ErrClosed is what Put returns after Close.
	ErrClosed = errors.New("outbox closed")

	// ErrStuck is how a failure begins when a write made no progress for
	// Options.Deadline.
	ErrStuck = errors.New("the other end reads nothing")
)

// Options say how much an Outbox holds and how long it tries. Zero fields stand
// for the defaults.
type Options struct {
	MaxItems int // Puts that are not wholly written; default 4096
	MaxBytes int // bytes that are not written; default 32 MiB. A larger Put never fits

	// Deadline is how long a write may make no progress at all before the
	// Outbox fails; default 10 s. A slow reader is no failure, a stuck one is.
	Deadline time.Duration

	// Own: nobody else has the open file that w writes to, so that it stays in
	// the mode it is in, which then need not be asked before every write.
	Own bool

	// OnFail is called once when a write fails, from a goroutine of its own
	// for which Close does not wait. It is not called for what Close cuts short.
	OnFail func(error)
}

// An Outbox is a bounded queue in front of a writer. All methods may be called
// from several goroutines. While it is in use nobody else may write to the
// writer or set its write deadline.
type Outbox struct {
	w        io.Writer
	deadline deadliner // nil if w has none
	direct   *direct   // nil if w cannot be written to without blocking
	o        Options
	done     chan struct{} // closed when closing and nothing is left to do

	mu      sync.Mutex
	queue   queue
	writing bool          // somebody writes, Flush or drain, and goes on until queue is empty
	brief   bool          // it is a Flush to a socket, which does not wait for the other end
	over    sync.Cond     // brief has ended
	since   time.Time     // when the write of Flush under way began; zero: there is none that may wait
	alert   *time.Timer   // calls look; nil: it is not set
	limit   *time.Timer   // ends a write of drain; nil: none is under way
	flying  int           // bytes of the write under way
	unsure  bool          // a write was given up; how far it came is not known
	stuck   bool          // failed inside a write that may not have returned
	closing bool          // Close was called
	ended   bool          // done is closed
	err     error         // why nothing will be written any more
	room    chan struct{} // closed when something was written or given up; nil if nobody waits for it
}

type deadliner interface{ SetWriteDeadline(time.Time) error }

// New returns an Outbox that writes to w, which stays the caller's to close. On
// Linux and macOS a w with a descriptor in non-blocking mode (a pipe or socket
// opened by package os or net) is written to by Flush itself; any other is
// written to by a goroutine only.
func New(w io.Writer, o Options) *Outbox {
	o.MaxItems = cmp.Or(o.MaxItems, 4096)
	o.MaxBytes = cmp.Or(o.MaxBytes, 32<<20)
	o.Deadline = cmp.Or(o.Deadline, 10*time.Second)
	b := &Outbox{w: w, direct: newDirect(w, o.Own), o: o, done: make(chan struct{})}
	b.over.L = &b.mu
	if d, ok := w.(deadliner); ok && d.SetWriteDeadline(time.Time{}) == nil {
		b.deadline = d
	}
	return b
}

// Put notes parts to be written one after the other, as one item. It writes
// nothing itself; see Flush. Parts of up to 16 KiB are copied. A larger one is
// kept as it is, and must not be changed by anybody until it is written.
//
// The error is ErrFull, ErrClosed, or the one that ended the writing.
func (b *Outbox) Put(parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch items, bytes := b.queue.size(); {
	case b.err != nil:
		return b.err
	case b.closing:
		return ErrClosed
	case items >= b.o.MaxItems || size > b.o.MaxBytes-bytes:
		return ErrFull
	}
	b.queue.put(parts, size)
	return nil
}

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

// giveUpLocked fails the Outbox for a write that does not return. What it still
// reads from is dropped before it counts as written, or others would get the room.
func (b *Outbox) giveUpLocked() {
	b.stuck = true
	b.failLocked(b.noProgress())
	b.loseLocked()
	b.endLocked()
}

// landedLocked takes note of what the write under way has written. That counts
// even after a failure: who is told that a line never left may send it again.
func (b *Outbox) landedLocked(n int) {
	if b.flying > 0 {
		b.queue.wrote(n)
	}
	b.flying = 0
	b.wakeLocked()
}

func (b *Outbox) wakeLocked() {
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
}

// loseLocked gives up a write that does not return. All of it may arrive yet.
func (b *Outbox) loseLocked() {
	b.unsure = b.unsure || b.flying > 0
	b.landedLocked(b.flying)
}

// drainLocked leaves the writing to a goroutine.
func (b *Outbox) drainLocked() {
	b.writing = true
	go b.drain()
}

// restLocked ends the turn of whoever was writing.
func (b *Outbox) restLocked() {
	b.writing = false
	b.endLocked()
}

// endLocked tells Close when there is nothing more to wait for.
func (b *Outbox) endLocked() {
	left := !b.queue.empty() && b.err == nil
	if b.closing && !b.ended && !left && (!b.writing || b.stuck) {
		b.ended = true
		close(b.done)
	}
}

// failLocked ends all writing. What is queued is given up, but still counted.
func (b *Outbox) failLocked(err error) {
	if b.err != nil {
		return
	}
	b.err = err
	b.queue.drop()
	b.wakeLocked()
	if b.o.OnFail != nil {
		go b.o.OnFail(err)
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

// Close stops accepting, writes what was put before and returns when that is
// done, has failed, or ctx ends; then it gives up what is left. It returns nil
// if everything was written. No goroutine of the Outbox is left then but
// the one that calls OnFail, and where w has no write deadlines a write that the
// other end does not take, which lingers until w is closed. Close may be called again.
func (b *Outbox) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closing = true
	defer b.unwatch()
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
	if _, bytes := b.queue.size(); bytes == 0 && !b.unsure {
		return nil
	}
	return b.err
}

// Hasten makes Options.Deadline another one, also for a write that is under way.
func (b *Outbox) Hasten(deadline time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	b.o.Deadline = deadline
	if b.alert != nil {
		b.alert.Reset(deadline)
	}
	if b.limit != nil {
		b.limitLocked()
	}
}

// unwatch forgets the timer: Close has seen to what it was for.
func (b *Outbox) unwatch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.alert != nil {
		b.alert.Stop()
		b.alert = nil
	}
}

// grace is how long a write may take to notice that its deadline is over.
const grace = time.Second

// abandon gives up what is queued, interrupts a write under way and waits for
// it, unless w cannot be interrupted.
func (b *Outbox) abandon(cause error) {
	if b.interrupt(cause) {
		select {
		case <-b.done:
			b.deadline.SetWriteDeadline(time.Time{}) // for last words of the caller's
			return
		case <-time.After(grace):
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loseLocked()
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

// Queued returns how many Puts are not wholly written, and how many bytes. After
// a failure it is what never will be; after Close, too.
func (b *Outbox) Queued() (items, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.size()
}
