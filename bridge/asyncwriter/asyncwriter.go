// Package asyncwriter is a writer that never makes its caller wait: a bridge must not stop
// because nobody reads its log. A [Writer] has one goroutine of its own, until Close returns.
// It is for lines: what finds no room is lost, counted in lines, and the count is said in the
// place where they were. Errors of the writer behind it are nobody's.
package asyncwriter

import (
	"io"
	"sync"
	"time"
)

// Most is how many bytes may wait for whoever reads, beside those that are being written.
const Most = 4 << 20

// kept is how large a buffer is kept for the next ones.
const kept = 64 << 10

// A Writer writes all that waits at once, in one system call. What finds no room is counted in
// lines, and the count is said as soon as there is room again. Its methods may be called from
// any goroutine.
type Writer struct {
	w    io.Writer
	lost func(n int) []byte // the line that says how many were lost
	done chan struct{}      // closed when the last of it is written

	mu     sync.Mutex
	more   sync.Cond // something waits, or will not any more
	lines  []byte
	missed int
	closed bool
}

// New makes one in front of w, which nobody else writes to; lost is the line that says how
// many were lost.
func New(w io.Writer, lost func(n int) []byte) *Writer {
	s := &Writer{w: w, lost: lost, done: make(chan struct{})}
	s.more.L = &s.mu
	go s.drain()
	return s
}

// Write takes one line. It fails only after Close.
func (s *Writer) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	if len(s.lines)+len(line) > Most {
		s.missed++
		return len(line), nil
	}
	s.confess()
	s.lines = append(s.lines, line...)
	s.more.Signal()
	return len(line), nil
}

// confess says how many lines were lost, if any. The caller holds s.mu.
func (s *Writer) confess() {
	if s.missed > 0 {
		s.lines = append(s.lines, s.lost(s.missed)...)
		s.missed = 0
	}
}

func (s *Writer) drain() {
	defer close(s.done)
	var lines []byte
	for open := true; open; {
		lines, open = s.take(lines[:0])
		if len(lines) > 0 {
			s.w.Write(lines) // nobody reading is no reason to stop the bridge
		}
		if cap(lines) > kept {
			lines = nil
		}
	}
}

// take waits for lines and exchanges them for an empty buffer. It reports
// whether more may follow.
func (s *Writer) take(empty []byte) (lines []byte, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.lines) == 0 && !s.closed {
		s.more.Wait()
	}
	lines, s.lines = s.lines, empty
	return lines, !s.closed
}

// Close writes what waits, for a second at most: then nobody is reading.
func (s *Writer) Close() {
	s.mu.Lock()
	s.confess()
	s.closed = true
	s.more.Signal()
	s.mu.Unlock()
	select {
	case <-s.done:
	case <-time.After(time.Second):
	}
}
