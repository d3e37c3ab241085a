package bridge

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// heardShell is a sidecar whose records somebody hears.
func heardShell(t *testing.T, hear func(*Sidecar, *record.Record)) (*Sidecar, *surroundings, *ground, *flakyLog) {
	t.Helper()
	st, w, log := newGround(t, "mcpx/v0.1", allowsSome), &surroundings{}, &flakyLog{}
	var s *Sidecar
	s = New(Options{Engine: engine.Config{Policy: st.policy, NewID: st.newID, Random: func() [16]byte { return [16]byte{} }}, Audit: log,
		Emit: func(r *record.Record) { hear(s, r) }})
	s.Bind(w, w)
	s.SeatTaken(st.dialect, wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}})
	raise(t, s, w)
	return s, w, st, log
}

// What was on record is heard once, in the same order, by one goroutine at a time.
func TestRecordsAreHeardInTheirOrder(t *testing.T) {
	var heard []string // without a lock: the race detector sees two at it
	s, _, st, log := heardShell(t, func(_ *Sidecar, r *record.Record) {
		if line := r.ForAudit(); line != nil {
			heard = append(heard, string(line))
		}
	})
	var all sync.WaitGroup
	for caller := range 4 {
		var calls []*wire.Envelope
		for n := range 200 {
			calls = append(calls, callFrame(t, st, fmt.Sprintf("e%d-%d", caller, n)))
		}
		all.Go(func() {
			for _, call := range calls {
				s.Received(call)
				s.Flush()
			}
		})
	}
	all.Wait()
	s.Leave()
	if got, want := strings.Join(heard, "\n"), strings.Join(log.kept, "\n"); got != want || len(heard) < 1600 {
		t.Errorf("%d were heard and %d are on record, in another order or not the same", len(heard), len(log.kept))
	}
}

// Who hears of something may ask and decide at once, also when a batch could not be written.
func TestWhoHearsMayCallBack(t *testing.T) {
	events := map[record.Event]bool{}
	s, _, st, log := heardShell(t, func(s *Sidecar, r *record.Record) {
		events[r.Event] = true
		s.Pending(0, 0)
		s.Revoke("none")
		s.Flush()
	})
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	log.fails = 1
	s.Received(callFrame(t, st, "e2"))
	s.Flush()
	if !events[record.Started] || !events[record.Ended] || !events[record.Warning] {
		t.Errorf("heard of %v", events)
	}
}

// Who does not come back holds up whoever told them, and nobody else: the others' calls
// go on, and what is too much for the journal is counted.
func TestWhoDoesNotComeBackHoldsUpNobodyElse(t *testing.T) {
	held, hold := make(chan struct{}), make(chan struct{})
	heard, lost := 0, 0
	s, w, st, _ := heardShell(t, func(_ *Sidecar, r *record.Record) {
		switch {
		case r.Event == record.EventsLost:
			lost += r.Count
		case heard > 0:
			heard++
		case r.Event == record.Decided:
			heard++
			close(held)
			<-hold
		}
	})
	var slow sync.WaitGroup
	call := callFrame(t, st, "slow")
	slow.Go(func() { s.Received(call) })
	<-held
	const calls = untoldMost
	for n := range calls {
		s.Received(callFrame(t, st, fmt.Sprint("e", n)))
		s.Handle(engine.ServerSaid{Message: *parse(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n+3))})
		s.Flush()
	}
	if n := w.got("tools/call"); n != 1+calls {
		t.Errorf("%d calls left while nobody listened, of %d", n, 1+calls)
	}
	close(hold)
	slow.Wait()
	if heard != 2+untoldMost || heard+lost != 2+3*calls {
		t.Errorf("%d were heard and %d are said to be lost, of %d", heard, lost, 2+3*calls)
	}
}

// What waits for who does not come back keeps no frames in memory, which anybody may fill
// with 16 MiB of nothing.
func TestWhatIsNotHeardYetKeepsNoFrames(t *testing.T) {
	held, hold := make(chan struct{}), make(chan struct{})
	decided := 0
	s, _, st, _ := heardShell(t, func(_ *Sidecar, r *record.Record) {
		if r.Event != record.Decided {
			return
		}
		if decided++; decided == 1 {
			close(held)
			<-hold
		}
	})
	call := callFrame(t, st, "slow")
	go s.Received(call)
	<-held
	var frames []weak.Pointer[byte]
	for n := range 200 {
		call := callFrame(t, st, fmt.Sprint("e", n))
		frames = append(frames, weak.Make(&call.Payload[0]))
		s.Received(call)
		s.Flush()
	}
	runtime.GC()
	kept := 0
	for _, f := range frames {
		if f.Value() != nil {
			kept++
		}
	}
	close(hold)
	s.Leave()
	if kept > 2*untoldWhole || decided != 201 {
		t.Errorf("what waited kept %d frames; %d were heard of", kept, decided)
	}
}

// Leave comes back when all has been heard, whoever tells it.
func TestLeavingWaitsForWhoHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		var last record.Event
		s, _, st, _ := heardShell(t, func(_ *Sidecar, r *record.Record) {
			if last = r.Event; last == record.Decided {
				<-hold
			}
		})
		call := callFrame(t, st, "e1")
		go s.Received(call)
		synctest.Wait()
		left := false
		go func() {
			s.Leave()
			left = true
		}()
		synctest.Wait()
		if left {
			t.Error("it left while somebody was being told")
		}
		close(hold)
		synctest.Wait()
		if !left || last != record.Started {
			t.Errorf("left: %v; the last that was heard is %s", left, last)
		}
	})
}
