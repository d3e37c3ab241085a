package bridge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
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

// An Audit is where records are kept. When it fails, or goes on after a failure,
// somebody must tell the Sidecar, with Unrecorded and AuditUp.
type Audit interface {
	// Append writes records, one JSON object each, in one piece: when it
	// fails none of them counts. It must not keep their bytes.
	Append(records ...[]byte) error

	// Sync puts all that was appended on disk and then calls done, from
	// another goroutine.
	Sync(done func(error))

	// Err is why nothing can be appended, nil if it can.
	Err() error
}

// Options are what a Sidecar needs beside its Engine.
type Options struct {
	Engine engine.Config

	// Audit gets every record before what it is about takes effect. nil: none
	// is kept.
	Audit Audit

	// SyncAll: what it is about waits until the record is on disk, whoever
	// decided it. Else only what a person decided does.
	SyncAll bool

	// Told is called, as Emit is, with what people at this machine may want to
	// see of questions; see [engine.Told].
	Told func(approval.Act)

	// TellHost is called, as Emit is, with a line for the client that the server
	// belongs to; see [engine.TellHost].
	TellHost func(line []byte)

	// Remember is called, as Emit is, with a yes that is to last.
	Remember func(approval.Grant)

	// Emit gets every Record, in order, from whichever goroutine caused
	// it, under the Sidecar's lock: it must neither wait nor call back, nor
	// change the Record. nil: nobody wants to know.
	Emit func(*record.Record)

	// Serving is called, as Emit is, when calls are served: after the
	// first start of the server and after every later one.
	Serving func(engine.Serving)

	// Now is the clock; nil: [time.Now]. It must not run backwards.
	Now func() time.Time
}

// A Sidecar runs an Engine: it hands it events and carries out the effects.
// Bind must be called before anything else.
type Sidecar struct {
	o      Options
	seat   Seat
	server Server
	wake   chan struct{} // what the Engine wants next is due sooner than Run knows
	idle   chan struct{} // no call is left at the server; Drain waits for it

	toSeat atomic.Bool // something was put there since the last flush
	staged atomic.Bool // something waits in batch

	flushing sync.Mutex // held while a batch is carried out, so that batches keep their order
	spare    batch      // empty, with room, to be filled next; of who holds flushing

	mu     sync.Mutex
	engine *engine.Engine
	batch  batch
	owed   []*record.Record // last words that could not be put on record yet
	tries  int              // how often in a row a log that is well did not take them
	downs  int              // how often the server has gone
	seats  int              // how often a seat was taken or lost
	armed  time.Time        // when Run will wake by itself
	told   []approval.Act   // of the event in hand
	events []engine.Event   // it, and behind it what says which effects could not be carried out
}

// New returns a Sidecar that is bound to nothing yet.
func New(o Options) *Sidecar {
	nothing(&o.Emit)
	nothing(&o.Serving)
	nothing(&o.Told)
	nothing(&o.Remember)
	nothing(&o.TellHost)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Sidecar{o: o, engine: engine.New(o.Engine), wake: make(chan struct{}, 1), idle: make(chan struct{}, 1)}
}

// nothing is what a function that was not given does.
func nothing[T any](f *func(T)) {
	if *f == nil {
		*f = func(T) {}
	}
}

// Bind gives the Sidecar its two ways out.
func (s *Sidecar) Bind(seat Seat, server Server) { s.seat, s.server = seat, server }

// Handle hands one event to the Engine and puts what follows from it on its
// way; [Sidecar.Flush] makes it leave. It may be called from any goroutine and
// waits for nobody but other Handles.
func (s *Sidecar) Handle(ev engine.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handleAndWake(ev)
}

// handleAndWake sees to it that Run wakes for what is to be done sooner now.
func (s *Sidecar) handleAndWake(ev engine.Event) {
	s.handle(ev)
	if next := s.engine.Next(); !next.IsZero() && (s.armed.IsZero() || next.Before(s.armed)) {
		s.armed = next
		s.nudge()
	}
}

// nudge makes Run look again when it has something to do.
func (s *Sidecar) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// handle carries out effects as they come; what cannot be queued is the next
// event. That ends, because refusing an answer causes no answer.
func (s *Sidecar) handle(ev engine.Event) {
	s.told = nil
	s.events = append(s.events[:0], ev)
	for i := 0; i < len(s.events); i++ {
		ev := s.events[i]
		s.events[i] = nil
		s.step(ev)
	}
}

func (s *Sidecar) step(ev engine.Event) {
	switch ev.(type) {
	case engine.Seated, engine.Unseated:
		s.seats++
	case engine.AuditUp:
		s.requeueOwed()
	}
	for _, f := range s.engine.Step(s.o.Now(), ev) {
		if failed := s.carryOut(f); failed != nil {
			s.events = append(s.events, failed)
		}
	}
	if _, down := ev.(engine.ServerDown); down {
		s.downs++ // what the Engine says to that, of calls that were overdue, is for no other server
	}
}

func (s *Sidecar) carryOut(f engine.Effect) (failed engine.Event) {
	switch f := f.(type) {
	case engine.Send:
		if f.Result && s.o.Audit != nil {
			s.batch.results = append(s.batch.results, result{f, s.seats})
			s.staged.Store(true)
			return nil
		}
		return s.send(f)
	case engine.Write:
		s.batch.lines = append(s.batch.lines, line{f, s.downs})
		s.staged.Store(true)
	case engine.Note:
		s.record(f.Record)
	case engine.Sync:
		s.batch.syncs = append(s.batch.syncs, f)
		s.staged.Store(true)
	case engine.Serving:
		s.o.Serving(f)
	case engine.Told:
		s.o.Told(f.Act)
		s.told = append(s.told, f.Act)
	case engine.TellHost:
		s.o.TellHost(f.Line)
	case engine.Remember:
		s.o.Remember(f.Grant)
	case engine.Restart:
		s.server.Restart(f.Why)
	case engine.Idle:
		select {
		case s.idle <- struct{}{}:
		default: // it was said before
		}
	}
	return nil
}

// send returns what has to be said to the Engine, nil if nothing.
func (s *Sidecar) send(f engine.Send) engine.Event {
	// The note comes after the put: a Flush in between would take the note and
	// leave the frame, for which nobody would come.
	err := s.seat.Send(f.Class, f.Frame)
	s.toSeat.Store(true)
	if err != nil {
		return engine.NotSent{Send: f, Gone: errors.Is(err, ErrNoSeat)}
	}
	return nil
}

func (s *Sidecar) record(r *record.Record) {
	s.o.Emit(r)
	if s.o.Audit == nil {
		return
	}
	if as := r.AuditedAs(); as != "" {
		s.batch.keep(r, as)
		switch {
		case r.Final():
			s.batch.last = append(s.batch.last, r)
		case r.Event == record.Started:
			s.batch.begins(r.Call)
		}
		s.staged.Store(true)
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
	s.handle(engine.Tick{})
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
	return s.armed.Sub(s.o.Now())
}

// Next is when the Engine wants a Tick at the latest; zero: never. [Sidecar.Run]
// sees to that; whoever does not run it must.
func (s *Sidecar) Next() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Next()
}

// Drain admits nothing more and waits for the calls at the server, at most
// until ctx ends; those still there then are answered as unknown.
func (s *Sidecar) Drain(ctx context.Context) {
	s.Handle(engine.Stopping{})
	s.Flush()
	for {
		select {
		case <-s.idle:
		case <-ctx.Done():
			s.Handle(engine.GivingUp{})
			s.flushAndWait()
			s.Handle(engine.GivingUp{}) // for answers whose requests have left only now
			s.flushAndWait()
			return
		}
		if s.flushAndWait(); !s.owes() {
			return
		}
	}
}

// Leave is for the end, however that came: what cannot be said to the topic by now
// is given up, on record. It waits for results that wait for the disk, as long as
// that may take.
func (s *Sidecar) Leave() {
	s.flushAndWait()
	s.Handle(engine.Leaving{})
	s.flushBatch() // unlike Flush, it waits for whoever is writing
	s.Flush()
}

// owes reports whether answers are left for which the way out was full: the Engine
// tries them again, and says when they are gone.
func (s *Sidecar) owes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Owes()
}

// Decide hands on what a person at this machine says to a question, and returns
// what came of it: a Noted where the answer counts for nothing or others must
// agree too, a Settled where it ended the question, nothing if there is no such
// question.
func (s *Sidecar) Decide(a approval.Answer) []approval.Act {
	s.mu.Lock()
	s.handleAndWake(engine.Decided{Answer: a})
	told := s.told
	s.mu.Unlock()
	s.Flush()
	return told
}

// Pending lists open questions, the oldest first; limit 0: all from skip on.
func (s *Sidecar) Pending(skip, limit int) []approval.Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Pending(skip, limit)
}

// View is one question as a person at this machine sees it; see [engine.Engine.View].
func (s *Sidecar) View(id string, whole bool) (approval.View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.View(s.o.Now(), id, whole)
}

// PublicView is one question as it may be shown off this machine; see [engine.Engine.PublicView].
func (s *Sidecar) PublicView(id string) (approval.View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.PublicView(s.o.Now(), id)
}

// Policy is what is in force.
func (s *Sidecar) Policy() *policy.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Policy()
}

// Running is how many requests of participants are at the server and still await
// their answers: none of ours, none of the server's own client.
func (s *Sidecar) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Running()
}

// Occupied reports whether the server is at work for a participant, or may be; see
// [engine.Engine.Occupied].
func (s *Sidecar) Occupied() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Occupied()
}

// HostSaid hands on what the client that the server belongs to has said, which
// is a tools/call, an answer to something that we asked, or a cancellation, and
// makes leave what follows from it. It reports false for a cancellation of what
// is none of our business.
func (s *Sidecar) HostSaid(line []byte, m jsonrpc.Message) (taken bool) {
	s.mu.Lock()
	switch id := m.Get(jsonrpc.RequestID); engine.ShortMethod(&m) {
	case "tools/call":
		s.handleAndWake(engine.HostCalled{Line: line, Message: m})
	case "notifications/cancelled":
		if !s.engine.OwnsHostCall(id) {
			s.mu.Unlock()
			return false
		}
		s.handleAndWake(engine.HostCancelled{Line: line, ID: id})
	default:
		s.handleAndWake(engine.HostReplied{Message: m})
	}
	s.mu.Unlock()
	s.Flush()
	return true
}

// HostAnswered hears that the server answers its own client under a raw id, nil
// if which one depends on the reader. It reports false if the client must not
// get that, because the server cannot have the call.
func (s *Sidecar) HostAnswered(id []byte, m *jsonrpc.Message) (pass bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pass = !s.engine.HoldsHostCall(id)
	if id == nil && !pass || s.engine.OwnsHostCall(id) {
		how := "unknown"
		if m != nil {
			how = engine.Outcome(m)
		}
		s.handleAndWake(engine.HostAnswered{ID: id, Outcome: how})
	}
	return pass
}

// Grants are the yeses that are remembered, oldest first.
func (s *Sidecar) Grants() []approval.Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Grants(s.o.Now())
}

// Revoke forgets a yes, and reports whether there was one of that id.
func (s *Sidecar) Revoke(id string) bool {
	s.mu.Lock()
	had := slices.ContainsFunc(s.engine.Grants(s.o.Now()), func(g approval.Grant) bool { return g.ID == id })
	s.handleAndWake(engine.Revoked{Grant: id})
	s.mu.Unlock()
	s.Flush()
	return had
}

// SeatTaken, SeatLost, Received, Refused and TopicIdle are what a seat at a
// topic calls.
func (s *Sidecar) SeatTaken(d wire.Dialect, w wire.Welcome) {
	s.Handle(engine.Seated{Dialect: d, Welcome: w})
	s.Flush()
}
func (s *Sidecar) SeatLost(err error)        { s.Handle(engine.Unseated{Err: err}) }
func (s *Sidecar) Received(e *wire.Envelope) { s.Handle(engine.Arrived{Envelope: e}) }
func (s *Sidecar) Refused(r *wire.Refused)   { s.Handle(engine.Garbled{Refused: r}) }
func (s *Sidecar) TopicIdle()                { s.Flush() }
