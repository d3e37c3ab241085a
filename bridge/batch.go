package bridge

import (
	"bytes"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// A batch is what waits for the next flush: the lines to the server, and the
// results of calls, leave when the records before them are written, and not
// otherwise.
type batch struct {
	records [][]byte // parts of text, most of them: when it grows, the older ones stay where they were
	text    []byte
	last    []*record.Record // the last words of calls among records, written later if they cannot be now
	starts  map[string]bool  // the calls whose start is among them
	tries   int              // how often some of the last were put off before
	lines   []line
	results []result
	syncs   []engine.Sync
}

// A line is a Write to the server that was there when the Engine said so.
type line struct {
	engine.Write
	downs int // how often the server had gone before
}

// A result is a Send that was spelled for the seat that there was then.
type result struct {
	engine.Send
	seats int // how often a seat had been taken or lost before
}

// keep puts a record among the others.
func (b *batch) keep(r *record.Record, as record.Event) {
	at := len(b.text)
	b.text = r.AppendAs(b.text, as)
	b.records = append(b.records, b.text[at:len(b.text):len(b.text)])
}

// begins notes that the start of a call is among the records.
func (b *batch) begins(call string) {
	if b.starts == nil {
		b.starts = map[string]bool{}
	}
	b.starts[call] = true
}

// requeueOwed puts the last words that are missing on record into the next batch. There
// are at most as many as there were calls when records began to fail.
func (s *Sidecar) requeueOwed() {
	var lines [][]byte
	for _, r := range s.owed {
		lines = append(lines, r.ForAudit())
	}
	s.batch.records = append(lines, s.batch.records...)
	s.batch.last = append(s.owed[:len(s.owed):len(s.owed)], s.batch.last...)
	if len(s.owed) > 0 {
		s.batch.tries = s.tries
		s.staged.Store(true)
	}
	s.owed = nil
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
	defer s.flushing.Unlock()
	for s.staged.Swap(false) {
		s.mu.Lock()
		b := s.batch
		s.batch = s.spare
		s.mu.Unlock()
		s.commit(b)
		s.spare = b.emptied()
	}
}

// roomMost is how many bytes of room are kept from one batch for another.
const roomMost = 256 << 10

// emptied is an empty batch with the room that the records of b had. They must
// have been written.
func (b *batch) emptied() batch {
	if cap(b.text) > roomMost {
		return batch{}
	}
	clear(b.records)
	return batch{records: b.records[:0], text: b.text[:0]}
}

// commit writes the records and then, only if that went well, lets the rest leave.
func (s *Sidecar) commit(b batch) {
	if err := s.append(b.records); err != nil {
		s.unrecorded(b, false, err)
		return
	}
	if s.o.Audit == nil || !s.o.SyncAll || len(b.lines)+len(b.results) == 0 {
		s.letOut(b)
		return
	}
	// Syncs end in the order in which they began, and so batches keep theirs.
	s.o.Audit.Sync(func(err error) {
		if err == nil {
			s.letOut(b)
		} else {
			s.unrecorded(b, true, err)
		}
		s.Flush()
	})
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
		for _, failed := range s.put(b.lines) {
			s.Handle(failed)
		}
		s.server.Flush()
	}
	for _, failed := range s.deliver(b.results) {
		s.Handle(failed)
	}
	for _, sync := range b.syncs {
		s.sync(sync.Ticket)
	}
}

// put hands lines to the server they were meant for. If that has gone meanwhile,
// whoever made the calls has been told, and may have made them again: the next
// server must not get them. The lock keeps the two from changing places.
func (s *Sidecar) put(lines []line) (failed []engine.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lines {
		if l.downs != s.downs {
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

func (s *Sidecar) append(records [][]byte) error {
	if s.o.Audit == nil || len(records) == 0 {
		return nil
	}
	return s.o.Audit.Append(records...)
}

func (s *Sidecar) sync(ticket uint64) {
	if s.o.Audit == nil {
		s.Handle(engine.Synced{Ticket: ticket})
		return
	}
	s.o.Audit.Sync(func(err error) {
		s.Handle(engine.Synced{Ticket: ticket, Err: err})
		s.Flush()
	})
}

// unrecorded lets nothing of a batch leave. What is no call (a cancellation, an
// answer to the server) is lost with it, which only makes us say less. Records that
// were written, be it that a power cut may take them, are not written again.
func (s *Sidecar) unrecorded(b batch, written bool, err error) {
	failed := engine.Unrecorded{Err: err, Written: written}
	for _, line := range b.lines {
		if line.Call != 0 {
			failed.Calls = append(failed.Calls, line.Call)
		}
	}
	var again []engine.Event // their ends are on record, so they have no mark
	for _, r := range b.results {
		if written || slices.ContainsFunc(b.last, func(last *record.Record) bool { return last.Call == r.Of }) {
			failed.Results = append(failed.Results, r.Send)
		} else {
			again = append(again, engine.NotSent{Send: r.Send, Gone: true})
		}
	}
	for _, r := range b.last {
		failed.Ends = append(failed.Ends, r.Call)
	}
	if written {
		b.starts = nil
	} else {
		s.putOff(b)
	}
	s.mu.Lock()
	failed.Results = append(failed.Results, s.overtaken(b)...)
	s.handleAndWake(failed)
	s.batch.neverLeft(b.starts) // those too that time alone has ended, before what failed was said
	s.mu.Unlock()
	for _, r := range again {
		s.Handle(r)
	}
	if s.o.Audit.Err() == nil {
		s.Handle(engine.AuditUp{}) // it was mended before we said that it failed
	}
	for _, sync := range b.syncs {
		s.Handle(engine.Synced{Ticket: sync.Ticket, Err: err})
	}
}

// overtaken takes out of the next batch the results whose last words were in b:
// they waited for a seat, which was taken while those were being written. It is
// called with mu held.
func (s *Sidecar) overtaken(b batch) (results []engine.Send) {
	s.batch.results = slices.DeleteFunc(s.batch.results, func(r result) bool {
		late := slices.ContainsFunc(b.last, func(last *record.Record) bool { return last.Call == r.Of })
		if late {
			results = append(results, r.Send)
		}
		return late
	})
	return results
}

// enoughTries to put last words on record in a log that says that it is well. It
// may fail, be mended and fail again, but not for ever.
const enoughTries = 5

// neverLeft makes last words that came while starts were being written, which
// failed, those on calls that never left.
func (b *batch) neverLeft(starts map[string]bool) {
	for i := range b.last {
		r := b.last[i]
		if !starts[r.Call] {
			continue
		}
		was := r.ForAudit()
		r = r.NotStarted()
		b.last[i] = r
		at := slices.IndexFunc(b.records, func(line []byte) bool { return bytes.Equal(line, was) })
		b.records[at] = r.ForAudit()
	}
}

// putOff keeps the last words of a batch for later.
func (s *Sidecar) putOff(b batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries = b.tries + 1
	if s.o.Audit.Err() != nil {
		s.tries = 0
	}
	if s.tries >= enoughTries {
		return
	}
	for _, r := range b.last {
		if b.starts[r.Call] {
			r = r.NotStarted()
		}
		s.owed = append(s.owed, r)
	}
}
