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

// grace is how long a write may take to notice that its deadline is over.
const grace = time.Second

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

	mu         sync.Mutex
	queue      queue
	writing    bool          // somebody writes, Flush or drain, and goes on until queue is empty
	flushing   bool          // it is a Flush to a socket, which does not wait for the other end
	flushEnded sync.Cond     // flushing has become false
	began      time.Time     // when the write under way began; zero: there is none that may wait
	late       time.Duration // how much longer than Options.Deadline it may take; 0 if it has no deadline
	watch      *time.Timer   // calls checkWrite; nil: it is not set
	inFlight   int           // bytes of the write under way
	uncertain  bool          // a write was given up; how much of it was written is not known
	stuck      bool          // failed inside a write that may not have returned
	closing    bool          // Close was called
	ended      bool          // done is closed
	err        error         // why nothing will be written any more
	room       chan struct{} // closed when something was written or given up; nil if nobody waits for it
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
	b.flushEnded.L = &b.mu
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

// giveUpLocked fails the Outbox because a write does not return. The queue is dropped before
// that write counts as done, so that nobody is given its room.
func (b *Outbox) giveUpLocked() {
	b.stuck = true
	b.failLocked(b.noProgress())
	b.abandonWriteLocked()
	b.endLocked()
}

// noteWrittenLocked notes that the write under way has written n bytes. That counts even
// after a failure: a caller that is told that a line never left may send it again.
func (b *Outbox) noteWrittenLocked(n int) {
	if b.inFlight > 0 {
		b.queue.wrote(n)
	}
	b.inFlight = 0
	b.wakeLocked()
}

func (b *Outbox) wakeLocked() {
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
}

// abandonWriteLocked gives up a write that does not return. It counts as written, because all
// of it may arrive yet.
func (b *Outbox) abandonWriteLocked() {
	b.uncertain = b.uncertain || b.inFlight > 0
	b.noteWrittenLocked(b.inFlight)
}

// endTurnLocked says that nobody is writing any more.
func (b *Outbox) endTurnLocked() {
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

// Queued returns how many Puts are not wholly written, and how many bytes. After
// a failure it is what never will be; after Close, too.
func (b *Outbox) Queued() (items, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.size()
}

func (b *Outbox) noProgress() error { return fmt.Errorf("%w for %v", ErrStuck, b.o.Deadline) }
