package desktop

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// An Upstream is how a Server reaches the topic.
type Upstream interface {
	// Carry carries out an Ask, a Cancel, a Tell or a Decide. It is called with
	// the Server locked, one act after the other: it never waits and does not call
	// the Server; what comes of it at once it returns, nil for nothing. The act is
	// the Upstream's.
	Carry(Act) Event
}

// Options say how a Server runs. Only Out has no default. The functions are called with the
// Server locked, and must neither wait nor call it.
type Options struct {
	Out   io.Writer                     // to the client; stays the caller's
	Log   *slog.Logger                  // nil discards
	Note  func(by, text string)         // hears each Note; nil: they are logged
	Ready func(tools int)               // the client sees the topic, and so many tools
	Trace func(dir string, line []byte) // sees every line; must not keep it
}

// How much a client that is slow to read may leave unread, and how long it may
// read nothing at all before it is given up.
const (
	maxUnread      = 1 << 16 // lines
	maxUnreadBytes = 256 << 20
	maxSpare       = 1 << 10 // lines, beyond which progress is left out
	stuckTime      = 5 * time.Minute
)

// drainTime is how long a client that ends its input is still answered.
const drainTime = 2 * time.Second

// A Server runs a Proxy between a client's pipes and a topic. It has no
// goroutine of its own: whoever has news steps it.
type Server struct {
	o        Options
	upstream Upstream
	out      *outbox.Outbox
	idle     chan struct{} // closed when the input has ended and nothing is left to answer

	mu     sync.Mutex
	proxy  *Proxy
	timer  *time.Timer
	ending bool  // the input has ended
	closed bool  // nothing is done any more
	broken error // why the client cannot be written to
}

// NewServer returns a Server that shows a topic as c says. It must be closed.
func NewServer(c Config, upstream Upstream, o Options) *Server {
	s := &Server{o: o, upstream: upstream, proxy: New(c), idle: make(chan struct{})}
	s.o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Note == nil {
		s.o.Note = func(_, text string) { s.o.Log.Info(text) }
	}
	s.out = outbox.New(o.Out, outbox.Options{MaxItems: maxUnread, MaxBytes: maxUnreadBytes, Deadline: stuckTime})
	s.timer = time.AfterFunc(time.Hour, func() { s.Step(Due{}) })
	return s
}

// Step takes an event, from any goroutine, and never waits. After Close it does
// nothing.
func (s *Server) Step(ev Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.stepLocked(ev)
	if next := s.proxy.Next(); !next.IsZero() {
		s.timer.Reset(time.Until(next))
	}
	s.out.Flush()
	if s.ending && !s.proxy.Busy() {
		s.ending = false
		close(s.idle)
	}
}

func (s *Server) stepLocked(ev Event) {
	for todo := []Event{ev}; len(todo) > 0; {
		acts := s.proxy.Step(time.Now(), todo[0])
		todo = todo[1:]
		for _, a := range acts {
			if more := s.carryLocked(a); more != nil {
				todo = append(todo, more)
			}
		}
	}
}

func (s *Server) carryLocked(a Act) Event {
	switch a := a.(type) {
	case WriteClient:
		s.sayLocked(a)
	case Note:
		s.o.Note(a.By, a.Text)
	case Ready:
		if s.o.Ready != nil {
			s.o.Ready(a.Tools)
		}
	default:
		return s.upstream.Carry(a)
	}
	return nil
}

func (s *Server) sayLocked(a WriteClient) {
	if items, _ := s.out.Queued(); a.Spare && items > maxSpare {
		return
	}
	s.trace("send", a.Line)
	if err := s.out.Put(a.Line, []byte("\n")); err != nil && s.broken == nil {
		s.broken = fmt.Errorf("the client does not read: %w", err)
	}
}

func (s *Server) trace(dir string, line []byte) {
	if s.o.Trace != nil {
		s.o.Trace(dir, line)
	}
}

// Read takes what the client says, to the end of in or of ctx, which does not
// interrupt a Read of in. What was asked by then is answered if that takes no
// longer than drainTime.
func (s *Server) Read(ctx context.Context, in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, err := readLine(lines)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case long:
			s.Step(Overlong{line})
		case len(line) > 0:
			s.trace("recv", line)
			s.Step(Line{line})
		}
		if why := s.why(); why != nil {
			return why
		}
		if errors.Is(err, io.EOF) {
			return s.drain(ctx)
		}
		if err != nil {
			return fmt.Errorf("stdin: %w", err)
		}
	}
}

func (s *Server) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

func (s *Server) drain(ctx context.Context) error {
	s.mu.Lock()
	s.ending = s.proxy.Busy()
	busy := s.ending
	s.mu.Unlock()
	if !busy {
		return nil
	}
	select {
	case <-s.idle:
	case <-time.After(drainTime):
	case <-ctx.Done():
	}
	return nil
}

// Close takes back what was asked of peers, and waits until the client has what
// was said, or ctx ends.
func (s *Server) Close(ctx context.Context) error {
	s.Step(Hangup{})
	s.mu.Lock()
	s.closed = true
	s.timer.Stop()
	s.mu.Unlock()
	return s.out.Close(ctx)
}

// readLine reads one line, without its end and in a slice of its own. Of a line
// that is too long it returns the head.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if room := jsonrpc.MaxSize + 2 - len(line); len(part) > room {
			part, long = part[:max(room, 0)], true
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		line = bytes.TrimRight(line, "\r\n")
		if long || len(line) > jsonrpc.MaxSize {
			return slices.Clone(line[:1<<10]), true, err
		}
		return line, false, err
	}
}
