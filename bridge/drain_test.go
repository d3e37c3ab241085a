package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A result whose end is on record leaves without the mark, be it that the records
// that it leaves with could not be written.
func TestAResultIsMarkedForItsOwnEndOnly(t *testing.T) {
	s, w, st, log := flakyShell(t)
	ctx, over := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	s.SeatLost(errors.New("gone"))
	s.Handle(engine.ServerSaid{Message: *st.parse(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)})
	s.Flush()
	log.fails = 1
	s.Handle(engine.Seated{Dialect: st.dialect, Welcome: wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}}})
	s.Received(callFrame(t, st, "e2"))
	s.Flush()
	s.Drain(ctx)
	over()
	<-done
	for _, f := range w.frames {
		if strings.Contains(f, `"correlation_id":"e1"`) && !strings.Contains(f, "incomplete") {
			return
		}
	}
	t.Errorf("the callers were told %q", w.frames)
}

// With every record synced, a start that was written has an end, though its sync
// failed and it never left.
func TestAStartWhoseSyncFailedHasAnEnd(t *testing.T) {
	st := newGround(t, "mew/v0.4", allowsSome)
	s, _, log := heldShell(t, st)
	arrivesAt(t, s, st, mewHead+`"id":"e1","from":"bob","kind":"mcp/request","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}}`)
	s.Flush()
	log.ends(errors.New("input/output error"))
	s.Flush()
	log.ends(nil)
	if log.count(`"event":"started"`) != 1 || log.count(`"event":"ended"`) != 1 {
		t.Errorf("on record is %q", log.kept)
	}
}

// A seat that takes no frames for a moment.
type fullSeat struct {
	*surroundings
	full int // so many more it does not take
}

func (f *fullSeat) Send(c wire.Class, frame []byte) error {
	if f.full > 0 {
		f.full--
		return errors.New("the way out is full")
	}
	return f.surroundings.Send(c, frame)
}

func TestDrainWaitsForAWayThatIsFull(t *testing.T) {
	s, w, st, _ := flakyShell(t)
	seat := &fullSeat{surroundings: w}
	s.Bind(seat, w)
	ctx, over := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	s.Handle(engine.ServerSaid{Message: *st.parse(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)})
	seat.full = 3
	s.Drain(ctx)
	over()
	<-done
	if got := strings.Join(w.frames, "\n"); !strings.Contains(got, `"correlation_id":"e1"`) {
		t.Errorf("the caller was told %s", got)
	}
}

// An answer that is still held when the bridge ends does not go missing unseen.
func TestAnAnswerThatCannotLeaveBeforeTheEndIsOnRecord(t *testing.T) {
	s, w, st, log := flakyShell(t)
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	s.Handle(engine.Unseated{})
	s.Handle(engine.ServerSaid{Message: *st.parse(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)})
	s.Drain(t.Context())
	s.Leave()
	if got := strings.Join(log.kept, "\n"); !strings.Contains(got, `"event":"dropped","env":"e1","from":"bob","method":"tools/call","reason":"shutting_down"`) {
		t.Errorf("on record is %s", got)
	}
	if got := strings.Join(w.frames, "\n"); strings.Contains(got, "response") {
		t.Errorf("without a seat it left: %s", got)
	}
}

// With every record synced, a result that waits for the disk is still under way when
// the bridge takes its leave: that waits too, and then gives it up on record.
func TestLeavingWaitsForWhatTheDiskHas(t *testing.T) {
	st := newGround(t, "mcpx/v0.1", allowsSome)
	s, _, log := heldShell(t, st)
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	log.ends(nil)
	s.Handle(engine.ServerSaid{Message: *st.parse(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)})
	s.Flush()
	ofTheResult, left := <-log.syncs, make(chan struct{})
	s.SeatLost(errors.New("the gateway has gone"))
	go func() {
		s.Leave()
		close(left)
	}()
	select {
	case last := <-log.syncs:
		ofTheResult(nil)
		last(nil)
		<-left
	case <-left: // what comes back now finds the log closed
	}
	if got := strings.Join(log.kept, "\n"); !strings.Contains(got, `"event":"dropped","env":"e1","from":"bob","method":"tools/call","reason":"shutting_down"`) {
		t.Errorf("on record is %s", got)
	}
}

// What the last chance lets out waits for the disk too, and Drain for that.
func TestDrainWaitsForTheDiskToTheLast(t *testing.T) {
	st := newGround(t, "mcpx/v0.1", fulfilsByRule)
	s, seat, log := heldShell(t, st)
	proposal := &wire.Envelope{ID: "p1", TS: "2026-01-01T00:00:00Z", From: "bob", To: []string{"fs"}, Kind: wire.Proposal, Method: "tools/call", Key: "read_file",
		Payload: []byte(`{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/a"}}}`)}
	frame, err := st.dialect.Append(nil, proposal, wire.Caps{})
	if err != nil {
		t.Fatal(err)
	}
	seat.full = 2 // the request by which we serve it, and its second try
	arrivesAt(t, s, st, string(frame))
	s.Flush()
	log.ends(nil)
	s.Handle(engine.ServerSaid{Message: *st.parse(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)})
	s.Flush()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	go func() {
		for done := range log.syncs {
			done(nil)
		}
	}()
	s.Drain(over)
	s.Handle(engine.Unseated{})
	close(log.syncs)
	seat.mu.Lock()
	defer seat.mu.Unlock()
	if got := strings.Join(seat.frames, "\n"); !strings.Contains(got, "mcp/response") {
		t.Errorf("when Drain was over, %s had been said, and on record was %s", got, strings.Join(log.kept, "\n"))
	}
}

// heldShell is a sidecar of a stage's Engine, with a server that is up, that syncs
// every record when its log is told to.
func heldShell(t *testing.T, st *ground) (*Sidecar, *fullSeat, *heldSync) {
	t.Helper()
	seat, log := &fullSeat{surroundings: &surroundings{}}, &heldSync{syncs: make(chan func(error), 8)}
	s := New(Options{Engine: engine.Config{Policy: st.policy, NewID: st.newID, Random: func() [16]byte { return [16]byte{} }}, Audit: log, SyncAll: true})
	s.Bind(seat, seat)
	s.SeatTaken(st.dialect, wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}})
	s.Handle(engine.ServerUp{Hello: engine.Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.Flush()
	log.ends(nil)
	list(t, s, seat.surroundings, tools)
	return s, seat, log
}

// arrivesAt has a frame arrive.
func arrivesAt(t *testing.T, s *Sidecar, st *ground, frame string) {
	t.Helper()
	env, err := st.dialect.Decode([]byte(frame))
	if err != nil {
		t.Fatal(err)
	}
	s.Received(&env)
}

// A heldSync hands over what waits for the disk.
type heldSync struct {
	flakyLog
	syncs chan func(error)
}

func (l *heldSync) Sync(done func(error)) { l.syncs <- done }

// ends ends what waits.
func (l *heldSync) ends(err error) {
	for range len(l.syncs) {
		(<-l.syncs)(err)
	}
}

// With every record synced, a result is marked whose record a sync has lost, also
// where it waited for the end of a pause meanwhile.
func TestAResultThatWaitedIsMarkedWhenASyncFails(t *testing.T) {
	st := newGround(t, "mew/v0.4", allowsSome)
	s, seat, log := heldShell(t, st)
	arrives := func(rest string) { arrivesAt(t, s, st, mewHead+rest) }
	call := `"id":"%s","from":"bob","kind":"mcp/request","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}}`
	arrives(fmt.Sprintf(call, "e1"))
	s.Flush()
	log.ends(nil)
	arrives(`"id":"p","from":"carol","kind":"participant/pause","payload":{"timeout_seconds":60}}`)
	s.Handle(engine.ServerSaid{Message: *st.parse(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)})
	arrives(fmt.Sprintf(call, "e2"))
	s.Flush()
	log.ends(errors.New("input/output error"))
	arrives(`"id":"r","from":"carol","kind":"participant/resume","payload":{}}`)
	s.Flush()
	log.ends(nil)
	for _, f := range seat.frames {
		if strings.Contains(f, `"correlation_id":["e1"]`) && strings.Contains(f, `"audit":"incomplete"`) {
			return
		}
	}
	t.Errorf("the callers were told %q", seat.frames)
}
