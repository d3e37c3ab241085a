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
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A Sidecar runs an Engine: it hands it events and carries out the effects.
// Bind must be called before anything else.
type Sidecar struct {
	o      Options
	seat   Seat
	server Server
	wake   chan struct{} // what the Engine wants next is due sooner than Run knows
	idle   chan struct{} // no call is left at the server; Drain waits for it

	toSeat atomic.Bool // something was put there since the last flush
	staged atomic.Bool // something waits in the journal's batch
	news   atomic.Bool // events were handled while a batch was carried out, and who listens was not told yet

	flushing sync.Mutex // held while a batch is carried out, so that batches keep their order
	spare    batch      // empty, with room, to be filled next
	script   script     // of the batch in hand

	mu       sync.Mutex
	engine   *engine.Engine
	journal  journal
	allTold  sync.Cond      // nobody tells who listens any more
	downs    int            // how often the server has gone
	halted   *engine.Halted // how the bridge was halted last; nil: never in this run
	withheld []uint64       // calls that a halt kept from leaving: as many as were on their way
	seats    int            // how often a seat was taken or lost
	armed    time.Time      // when Run will wake by itself
	told     []approval.Act // of the event in hand
	resuming []chan<- error // who waits to hear that things start again; each has room
	events   []engine.Event // it, and behind it what says which effects could not be carried out
}

// New returns a Sidecar that is bound to nothing yet.
func New(o Options) *Sidecar {
	orNothing(&o.Emit)
	orNothing(&o.Noted)
	orNothing(&o.Serving)
	orNothing(&o.Told)
	orNothing(&o.Remember)
	orNothing(&o.TellHost)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Sidecar{o: o, engine: engine.New(o.Engine), wake: make(chan struct{}, 1), idle: make(chan struct{}, 1)}
	s.allTold.L = &s.mu
	return s
}

// Bind gives the Sidecar its two ways out.
func (s *Sidecar) Bind(seat Seat, server Server) { s.seat, s.server = seat, server }

// Handle hands one event to the Engine and puts what follows from it on its
// way; [Sidecar.Flush] makes it leave. It may be called from any goroutine and
// waits for nobody but other Handles.
func (s *Sidecar) Handle(ev engine.Event) {
	s.mu.Lock()
	s.handleAndWake(ev)
	s.unlockAndTell()
}

// Say has who listens told, in its place among the others, of what is none of the Engine's
// business. It is not put on record.
func (s *Sidecar) Say(r *record.Record) {
	s.mu.Lock()
	s.journal.add(r, false)
	s.unlockAndTell()
}

// unlockAndTell lets go of the lock and tells who listens what was not told yet, unless
// somebody is doing so. It must not be called with flushing held: who listens may Flush.
func (s *Sidecar) unlockAndTell() {
	defer s.mu.Unlock()
	j := &s.journal
	if j.telling {
		return
	}
	j.telling = true
	for len(j.untold) > 0 {
		all := j.take()
		s.mu.Unlock()
		for _, r := range all {
			s.o.Emit(r)
		}
		s.mu.Lock()
		j.told(all)
	}
	j.telling = false
	s.allTold.Broadcast()
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
		s.staged.Store(true) // what is owed goes now, if it has not gone before
	}
	for _, f := range s.engine.Step(s.o.Now(), ev) {
		if failed := s.carryOut(f); failed != nil {
			s.events = append(s.events, failed)
		}
	}
	switch ev.(type) {
	case engine.ServerDown:
		s.downs++ // after the Step: lines that it wrote were for the server that is gone
	case engine.Halt:
		s.halted = s.engine.Halted()
	}
}

func (s *Sidecar) carryOut(f engine.Effect) (failed engine.Event) {
	switch f := f.(type) {
	case engine.Send:
		if f.Result && s.o.Audit != nil {
			s.journal.results = append(s.journal.results, result{f, s.seats})
			s.staged.Store(true)
			return nil
		}
		return s.send(f)
	case engine.Write:
		s.journal.lines = append(s.journal.lines, line{f, s.downs, s.halted})
		s.staged.Store(true)
	case engine.Note:
		s.o.Noted(f.Record)
		if s.journal.add(f.Record, s.o.Audit != nil) {
			s.staged.Store(true)
		}
	case engine.Sync:
		s.journal.syncs = append(s.journal.syncs, f)
		s.staged.Store(true)
	case engine.Look:
		if s.o.Look == nil || !s.o.Look(f) {
			return engine.Looked{Ticket: f.Ticket}
		}
	case engine.Serving:
		s.o.Serving(f)
	case engine.Told:
		s.o.Told(f.Act)
		s.told = append(s.told, f.Act)
	case engine.TellHost:
		s.o.TellHost(f.Line)
	case engine.Remember:
		s.o.Remember(f.Grant)
	case engine.Resumed:
		for _, done := range s.resuming {
			done <- f.Err
		}
		s.resuming = nil
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

// Flush makes leave what Handle has put on its way. The goroutines that read
// call it before they wait for more, so that what was read together leaves
// together: the records in one write, then the lines in one, then the frames.
func (s *Sidecar) Flush() {
	if s.staged.Load() {
		s.flushBatch()
	}
	if s.toSeat.Swap(false) {
		s.seat.Flush()
	}
}

func (s *Sidecar) flushBatch() {
	s.flushing.Lock()
	for s.staged.Swap(false) {
		failed := s.auditErr() // once for both: what a log that is well by now would take stands behind what is owed
		s.mu.Lock()
		if failed == nil {
			s.journal.repay()
		}
		b := s.journal.batch
		s.journal.batch = s.spare
		s.mu.Unlock()
		if s.spare = (batch{}); s.commit(b, failed) {
			s.spare = b.emptied()
		}
		if s.news.Load() {
			s.flushing.Unlock()
			s.tellNews()
			s.flushing.Lock()
		}
	}
	s.flushing.Unlock()
}

// tellNews tells who listens of what came of a batch.
func (s *Sidecar) tellNews() {
	if s.news.Swap(false) {
		s.mu.Lock()
		s.unlockAndTell()
	}
}

// auditErr is why nothing can be put on record, nil if it can, or need not be.
func (s *Sidecar) auditErr() error {
	if s.o.Audit == nil {
		return nil
	}
	return s.o.Audit.Err()
}

// commit writes the records, unless the log had failed already, and then, only if that went
// well, lets the rest leave. It reports whether b is done with.
func (s *Sidecar) commit(b batch, err error) (done bool) {
	if s.o.Audit != nil && len(b.records) > 0 {
		if err == nil {
			err = s.o.Audit.Append(s.script.of(b.records)...)
		}
		if err != nil {
			s.unrecorded(b, false, err)
			return false
		}
	}
	if s.o.Audit == nil || !s.o.SyncAll || len(b.lines)+len(b.results) == 0 {
		s.letOut(b)
		return true
	}
	// Syncs end in the order in which they began, and so batches keep theirs.
	s.o.Audit.Sync(func(err error) {
		if err == nil {
			s.letOut(b)
		} else {
			s.unrecorded(b, true, err)
		}
		s.tellNews()
		s.Flush()
	})
	return false
}

// flushAndWait waits until nothing is on its way any more, whoever carries it, as long
// as a disk may take (RELIABILITY section 3).
func (s *Sidecar) flushAndWait() {
	s.flushBatch()
	if s.o.Audit != nil && s.o.SyncAll {
		done := make(chan struct{})
		s.o.Audit.Sync(func(error) { close(done) })
		late := time.NewTimer(2 * time.Second)
		defer late.Stop()
		select {
		case <-done:
		case <-late.C:
		}
	}
	s.Flush()
}

// letOut puts the lines and the results of a batch on their way.
func (s *Sidecar) letOut(b batch) {
	if len(b.lines) > 0 {
		s.handleInFlush(s.put(b.lines)...)
		s.server.Flush()
	}
	s.handleInFlush(s.deliver(b.results)...)
	for _, sync := range b.syncs {
		s.sync(sync.Ticket)
	}
}

// handleInFlush is Handle while a batch is carried out: who listens is told later.
func (s *Sidecar) handleInFlush(evs ...engine.Event) {
	if len(evs) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news.Store(true)
	for _, ev := range evs {
		s.handleAndWake(ev)
	}
}

// put hands lines to the server they were meant for. If that has gone meanwhile,
// whoever made the calls has been told, and may have made them again: the next
// server must not get them. What others asked for before a halt was said does not leave
// after it. With the lock held neither comes in between.
func (s *Sidecar) put(lines []line) (failed []engine.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lines {
		if l.downs != s.downs || l.Ends != 0 && slices.Contains(s.withheld, l.Ends) {
			continue
		}
		if l.Call != 0 && !l.Own && l.halted != s.halted {
			s.withheld = append(s.withheld, l.Call)
			failed = append(failed, engine.NotWritten{Call: l.Call, Halted: s.halted})
			continue
		}
		if err := s.server.Put(l.Line); err != nil && l.Call != 0 {
			failed = append(failed, engine.NotWritten{Call: l.Call, Err: err})
		}
	}
	return failed
}

// deliver sends results to the seat they were spelled for. If that has been lost
// meanwhile, they are spelled anew for the one that there is.
func (s *Sidecar) deliver(results []result) (failed []engine.Event) {
	if len(results) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range results {
		if r.seats != s.seats {
			failed = append(failed, engine.NotSent{Send: r.Send, Gone: true})
		} else if f := s.send(r.Send); f != nil {
			failed = append(failed, f)
		}
	}
	return failed
}

func (s *Sidecar) sync(ticket uint64) {
	if s.o.Audit == nil {
		s.handleInFlush(engine.Synced{Ticket: ticket})
		return
	}
	s.o.Audit.Sync(func(err error) {
		s.Handle(engine.Synced{Ticket: ticket, Err: err})
		s.Flush()
	})
}

// unrecorded lets nothing of a batch leave. Lines that are no calls (a cancellation, an
// answer to the server) are lost with it; the Engine is not told of these. Records that were
// written are not written again, though a power cut may still take them.
func (s *Sidecar) unrecorded(b batch, written bool, err error) {
	failed, again := b.failed(written, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news.Store(true)
	failed.Results = append(failed.Results, s.journal.without(failed.Ends)...) // they waited for a seat, which was taken meanwhile
	if written {
		s.handleAndWake(failed)
	} else {
		held, ran := b.starts()
		b.neverStarted(held)
		s.journal.owe(&b, ran, s.o.Audit.Err() == nil)
		s.handleAndWake(failed)
		s.journal.neverStarted(held) // those too that time alone has ended, before what failed was said
	}
	for _, ev := range again {
		s.handleAndWake(ev)
	}
	if s.o.Audit.Err() == nil {
		s.handleAndWake(engine.AuditUp{}) // it was mended before we said that it failed
	}
	for _, sync := range b.syncs {
		s.handleAndWake(engine.Synced{Ticket: sync.Ticket, Err: err})
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
	s.unlockAndTell()
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

// Calls counts those of this run; see [engine.Engine.Calls].
func (s *Sidecar) Calls() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Calls()
}

// Present are those in the topic beside us; see [engine.Engine.Present].
func (s *Sidecar) Present() (ids []string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Present()
}

// Occupied reports whether the server is at work for a participant, or may be; see
// [engine.Engine.Occupied].
func (s *Sidecar) Occupied() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Occupied()
}
