package bridge

import (
	"bytes"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// A journal has each record until all who must know have been told of it, in the order
// in which things happened. Two are told, neither of which waits for the other:
//
// The audit gets a batch at a time, and what it says holds for the whole of it: the
// lines and the results of a batch leave when its records are written, and not
// otherwise. Those that are owed ([isOwed]) and could not be written are deferred, and go
// first when the audit is well again. None is lost.
//
// Who listens gets one record after the other, with no lock held, so that it may call
// back. One goroutine tells it at a time, and tells what others add meanwhile too; they
// go on. Beyond [untoldMost] that it has not taken, records are not told, but counted.
//
// The Sidecar's lock guards it. Records are read without, as nobody changes them.
type journal struct {
	batch
	deferred []*record.Record // those owed that could not be put on record yet
	tries    int              // how often in a row a log that is well did not take them

	untold  []*record.Record
	missed  int              // records that were not told, being too many
	room    []*record.Record // empty, for the next of them
	telling bool             // some goroutine tells who listens
}

// untoldMost is how many records wait for who listens, of some 1 KiB each.
const untoldMost = 4096

// untoldWhole is how many of them may keep the frames that they are of, as large as those are.
const untoldWhole = 16

// add takes a record, and reports whether it is kept: audited says that there is an audit.
func (j *journal) add(r *record.Record, audited bool) (kept bool) {
	if len(j.untold) >= untoldWhole {
		r.Args, r.Beside, r.Meta = bytes.Clone(r.Args), bytes.Clone(r.Beside), bytes.Clone(r.Meta)
	}
	if len(j.untold) < untoldMost {
		j.untold = append(j.untold, r)
	} else {
		j.missed++
	}
	if kept = audited && r.AuditedAs() != ""; kept {
		j.records = append(j.records, r)
	}
	return kept
}

// take is what is to be told now. It comes back by [journal.told].
func (j *journal) take() []*record.Record {
	all := j.untold
	j.untold, j.room = j.room, nil
	if j.missed > 0 {
		all = append(all, &record.Record{Event: record.EventsLost, Count: j.missed, At: all[len(all)-1].At})
		j.missed = 0
	}
	return all
}

// told gives the room of what take returned to later records.
func (j *journal) told(all []*record.Record) {
	clear(all)
	j.room = all[:0]
}

// repay puts what is deferred into the batch in hand, before all else. It is at most as much as
// there were calls, and yeses remembered, when records began to fail.
func (j *journal) repay() {
	if len(j.deferred) > 0 {
		j.records = append(j.deferred, j.records...)
		j.deferred, j.batch.tries = nil, j.tries
	}
}

// enoughTries is how often in a row what is owed is put into a log that fails and says each
// time that it is well again. Then it is given up.
const enoughTries = 5

// isOwed: the log must not go without it, for an earlier record would mislead for ever: that a
// call goes on, or that a yes counts. Of a yes that is not on record itself it does no harm.
func isOwed(r *record.Record) bool {
	return r.Final() || r.Event == record.Revoked
}

// owe keeps what is owed of a batch that could not be written, and all that is of the calls that
// ran, whose ends would have neither leave nor start. well: the log is, by now.
func (j *journal) owe(b *batch, ran []string, well bool) {
	if j.tries = b.tries + 1; !well {
		j.tries = 0
	}
	if j.tries < enoughTries {
		j.deferred = append(j.deferred, slices.DeleteFunc(b.records, func(r *record.Record) bool {
			return !isOwed(r) && !slices.Contains(ran, r.Call)
		})...)
	}
}

// A batch is what waits for the next flush.
type batch struct {
	records []*record.Record
	tries   int // how often some of them were put off before
	lines   []line
	results []result
	syncs   []engine.Sync
}

// A line is a Write to the server that was there when the Engine said so.
type line struct {
	engine.Write
	downs  int            // how often the server had gone before
	halted *engine.Halted // how the bridge had been halted last
}

// A result is a Send that was spelled for the seat that there was then.
type result struct {
	engine.Send
	seats int // how often a seat had been taken or lost before
}

// roomMost is how much room is kept from one batch for the next: bytes of text, and a
// sixteenth of it of records.
const roomMost = 256 << 10

// emptied is an empty batch with the room of b, which nobody uses any more.
func (b *batch) emptied() batch {
	if cap(b.records) > roomMost>>4 {
		return batch{}
	}
	clear(b.records)
	clear(b.lines)
	clear(b.results)
	return batch{records: b.records[:0], lines: b.lines[:0], results: b.results[:0], syncs: b.syncs[:0]}
}

// calls are those of some of the records.
func (b *batch) calls(of func(*record.Record) bool) (all []string) {
	for _, r := range b.records {
		if of(r) {
			all = append(all, r.Call)
		}
	}
	return all
}

func isStart(r *record.Record) bool { return r.Event == record.Started }

// starts are the calls whose start is in the batch: those that it holds back, and those that ran
// all the same, as what stays here (a plan) waits for no line.
func (b *batch) starts() (held, ran []string) {
	done := b.calls(func(r *record.Record) bool { return r.Final() && r.Executed == "yes" })
	for _, call := range b.calls(isStart) {
		if slices.Contains(done, call) {
			ran = append(ran, call)
		} else {
			held = append(held, call)
		}
	}
	return held, ran
}

// neverStarted makes final records of calls whose start could not be written those of
// calls that never left.
func (b *batch) neverStarted(calls []string) {
	for i, r := range b.records {
		if r.Final() && slices.Contains(calls, r.Call) {
			b.records[i] = r.NotStarted()
		}
	}
}

// failed is what the Engine is to hear of a batch that could not be written or, if it
// was written, not be put on disk. again are results whose own records are in another
// batch, which may still leave.
func (b *batch) failed(written bool, err error) (failed engine.Unrecorded, again []engine.Event) {
	failed = engine.Unrecorded{Err: err, Written: written, Ends: b.calls((*record.Record).Final)}
	for _, l := range b.lines {
		if l.Call != 0 {
			failed.Calls = append(failed.Calls, l.Call)
		}
	}
	for _, r := range b.results {
		if written || slices.Contains(failed.Ends, r.Of) {
			failed.Results = append(failed.Results, r.Send)
		} else {
			again = append(again, engine.NotSent{Send: r.Send, Gone: true})
		}
	}
	return failed, again
}

// without takes out the results of some calls, and returns them.
func (b *batch) without(calls []string) (results []engine.Send) {
	b.results = slices.DeleteFunc(b.results, func(r result) bool {
		gone := slices.Contains(calls, r.Of)
		if gone {
			results = append(results, r.Send)
		}
		return gone
	})
	return results
}

// A script is records as they are written. Its room is used again.
type script struct {
	text  []byte // parts of it, most of them: when it grows, the older ones stay where they were
	lines [][]byte
}

// of spells records, which are good until the next time.
func (s *script) of(records []*record.Record) [][]byte {
	if cap(s.text) > roomMost {
		*s = script{}
	}
	clear(s.lines)
	s.text, s.lines = s.text[:0], s.lines[:0]
	for _, r := range records {
		at := len(s.text)
		s.text = r.AppendAs(s.text, r.AuditedAs())
		s.lines = append(s.lines, s.text[at:len(s.text):len(s.text)])
	}
	return s.lines
}
