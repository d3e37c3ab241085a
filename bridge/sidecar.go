package bridge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A Seat is the way to the topic. Neither method may wait for the gateway.
type Seat interface {
	// Send takes the frame over. An error that is ErrNoSeat means that
	// there is no link; any other, that the way out is full.
	Send(class wire.Class, frame []byte) error
	Flush()
}

// ErrNoSeat is what a Seat's Send returns, perhaps wrapped, without a link.
var ErrNoSeat = errors.New("there is no seat at the topic")

// A Server is the way to the MCP server. No method may wait for it.
type Server interface {
	Put(line []byte) error // takes the line over
	Flush()
	Restart(why string)
}

// Options are what a Sidecar needs beside its Engine.
type Options struct {
	Engine Config

	// Emit gets every Record, in order, from whichever goroutine caused
	// it, under the Sidecar's lock: it must neither wait nor call back.
	// nil: nobody wants to know.
	Emit func(Record)

	// Serving is called, as Emit is, when calls are served: after the
	// first start of the server and after every later one.
	Serving func(Serving)
}

// A Sidecar runs an Engine: it hands it events and carries out the effects.
// Bind must be called before anything else.
type Sidecar struct {
	emit    func(Record)
	serving func(Serving)
	seat    Seat
	server  Server
	wake    chan struct{} // Next has become sooner than Run knows
	idle    chan struct{} // closed when the last call has ended after Drain

	toSeat, toServer atomic.Bool // something was put there since the last flush

	mu     sync.Mutex
	engine *Engine
	armed  time.Time // when Run will wake by itself
	rest   bool      // idle is closed
}

// New returns a Sidecar that is bound to nothing yet.
func New(o Options) *Sidecar {
	s := &Sidecar{emit: o.Emit, serving: o.Serving, engine: NewEngine(o.Engine),
		wake: make(chan struct{}, 1), idle: make(chan struct{})}
	if s.emit == nil {
		s.emit = func(Record) {}
	}
	if s.serving == nil {
		s.serving = func(Serving) {}
	}
	return s
}

// Bind gives the Sidecar its two ways out.
func (s *Sidecar) Bind(seat Seat, server Server) { s.seat, s.server = seat, server }

// Handle hands one event to the Engine and puts what follows from it on its
// way; [Sidecar.Flush] makes it leave. It may be called from any goroutine and
// waits for nobody but other Handles.
func (s *Sidecar) Handle(ev Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle(ev)
	if next := s.engine.Next(); !next.IsZero() && (s.armed.IsZero() || next.Before(s.armed)) {
		s.armed = next
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// handle carries out effects as they come; what cannot be queued is the next
// event. That ends, because refusing an answer causes no answer.
func (s *Sidecar) handle(ev Event) {
	events := []Event{ev}
	for len(events) > 0 {
		ev, events = events[0], events[1:]
		for _, f := range s.engine.Step(time.Now(), ev) {
			if failed := s.carryOut(f); failed != nil {
				events = append(events, failed)
			}
		}
	}
}

func (s *Sidecar) carryOut(f Effect) (failed Event) {
	switch f := f.(type) {
	case Send:
		// The note comes after the put: a Flush in between would take the note
		// and leave the frame, for which nobody would come.
		err := s.seat.Send(f.Class, f.Frame)
		s.toSeat.Store(true)
		if err != nil {
			return NotSent{f, errors.Is(err, ErrNoSeat)}
		}
	case Write:
		err := s.server.Put(f.Line)
		s.toServer.Store(true)
		if err != nil && f.Call != 0 {
			return NotWritten{f.Call, err}
		}
	case Note:
		s.emit(f.Record)
	case Serving:
		s.serving(f)
	case Restart:
		s.server.Restart(f.Why)
	case Idle:
		if !s.rest {
			s.rest = true
			close(s.idle)
		}
	}
	return nil
}

// Flush makes leave what Handle has put on its way. The goroutines that read
// call it before they wait for more, so that what was read together leaves
// together.
func (s *Sidecar) Flush() {
	if s.toServer.Swap(false) {
		s.server.Flush()
	}
	if s.toSeat.Swap(false) {
		s.seat.Flush()
	}
}

// Run gives the Engine its time until ctx ends.
func (s *Sidecar) Run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-timer.C:
			s.tick()
		}
		timer.Reset(s.untilNext())
	}
}

func (s *Sidecar) tick() {
	s.mu.Lock()
	s.handle(Tick{})
	s.mu.Unlock()
	s.Flush()
}

func (s *Sidecar) untilNext() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = s.engine.Next()
	if s.armed.IsZero() {
		return time.Hour
	}
	return time.Until(s.armed)
}

// Drain admits nothing more and waits for the calls at the server, at most
// until ctx ends; those still there then are answered as unknown.
func (s *Sidecar) Drain(ctx context.Context) {
	s.Handle(Stopping{})
	s.Flush()
	select {
	case <-s.idle:
	case <-ctx.Done():
		s.Handle(GivingUp{})
	}
	s.Flush()
}

// SeatTaken, SeatLost, Received, Refused and TopicIdle are what a seat at a
// topic calls.
func (s *Sidecar) SeatTaken(d wire.Dialect, w wire.Welcome) { s.Handle(Seated{d, w}); s.Flush() }
func (s *Sidecar) SeatLost(err error)                       { s.Handle(Unseated{err}) }
func (s *Sidecar) Received(e *wire.Envelope)                { s.Handle(Arrived{e}) }
func (s *Sidecar) Refused(r *wire.Refused)                  { s.Handle(Garbled{r}) }
func (s *Sidecar) TopicIdle()                               { s.Flush() }
