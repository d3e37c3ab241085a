package bridge

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// surroundings are all that a Sidecar touches, written down.
type surroundings struct {
	mu     sync.Mutex
	lines  []string
	frames []string
	hold   chan struct{}    // what an Append waits for; nil: nothing
	begun  chan struct{}    // one for every Append that waits
	broken error            // why nothing can be appended
	syncs  chan func(error) // what waits for the disk; nil: nothing does
}

func (w *surroundings) Send(_ wire.Class, frame []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frames = append(w.frames, string(frame))
	return nil
}

func (w *surroundings) Put(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, string(line))
	return nil
}

func (w *surroundings) Append(...[]byte) error {
	w.mu.Lock()
	hold := w.hold
	w.mu.Unlock()
	if hold != nil {
		w.begun <- struct{}{}
		<-hold
	}
	return w.Err()
}

func (w *surroundings) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

func (w *surroundings) set(hold chan struct{}, broken error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold, w.broken = hold, broken
}

func (w *surroundings) Flush()         { /* all is seen at once */ }
func (w *surroundings) Restart(string) {}

func (w *surroundings) Sync(done func(error)) {
	if w.syncs == nil {
		go done(nil)
		return
	}
	w.syncs <- done
}

// got returns how many lines the server got that hold a text.
func (w *surroundings) got(text string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// newShell is a sidecar of a stage's Engine, seated and with a server that is up.
func newShell(t *testing.T) (*Sidecar, *surroundings, *ground) {
	t.Helper()
	st := newGround(t, "mcpx/v0.1", allowsSome)
	w := &surroundings{begun: make(chan struct{}, 8)}
	s := New(Options{Engine: engine.Config{Policy: st.policy, NewID: st.newID, Random: func() [16]byte { return [16]byte{} }}, Audit: w})
	s.Bind(w, w)
	caps, err := wire.ParseCaps([]byte(`["mcp/*"]`))
	if err != nil {
		t.Fatal(err)
	}
	s.SeatTaken(st.dialect, wire.Welcome{You: wire.Participant{ID: "fs", Caps: caps}, Peers: []wire.Participant{{ID: "bob"}}})
	raise(t, s, w)
	return s, w, st
}

// raise starts the server, which lists its tools.
func raise(t testing.TB, s *Sidecar, w *surroundings) {
	t.Helper()
	s.Handle(engine.ServerUp{Hello: engine.Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.Flush()
	list(t, s, w, tools)
}

// list answers the last tools/list.
func list(t testing.TB, s *Sidecar, w *surroundings, result string) {
	t.Helper()
	w.mu.Lock()
	last := w.lines[len(w.lines)-1]
	w.mu.Unlock()
	m, err := jsonrpc.Parse([]byte(last), jsonrpc.Passed)
	if err != nil || m.Text(jsonrpc.Method) != "tools/list" {
		t.Fatalf("the last line is %s", last)
	}
	answer, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":`+string(m.Get(jsonrpc.ID))+`,"result":`+strings.ReplaceAll(result, "\n", "")+`}`), jsonrpc.Passed)
	if err != nil {
		t.Fatal(err)
	}
	s.Handle(engine.ServerSaid{Message: answer})
	s.Flush()
}

func callFrame(t *testing.T, st *ground, env string) *wire.Envelope {
	t.Helper()
	e, err := st.dialect.Decode(fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":%q,"ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:tools/call",`+
		`"payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}}`, env))
	if err != nil {
		t.Fatal(err)
	}
	return &e
}

// A call that waits for its record when the server dies is answered then. The
// server that is started next must not get it, however long the disk takes: its
// caller has heard that it did not run, and may have made it again.
func TestALineIsNotWrittenToTheNextServer(t *testing.T) {
	s, w, st := newShell(t)
	hold := make(chan struct{})
	w.set(hold, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Received(callFrame(t, st, "e1"))
		s.Flush()
	}()
	<-w.begun
	s.Handle(engine.ServerDown{Reason: "child_exit", Cause: "exited"})
	s.Handle(engine.ServerUp{Hello: engine.Hello{PID: 8, Revision: "2025-06-18", Result: []byte(`{}`)}})
	w.set(nil, nil)
	close(hold)
	<-done
	s.Flush()
	if n := w.got("tools/call"); n > 0 {
		t.Errorf("the new server got the old one's call; its caller was told %q", w.frames)
	}
	if n := w.got("tools/list"); n != 2 {
		t.Errorf("the new server was asked for its tools %d times, want once", n-1)
	}
}

// The machine slept, and when it wakes a call has had its time and its server is gone. That
// nobody waits for the call is nothing to the server that is started next.
func TestTheNextServerIsNotToldToStopACallOfTheOneBefore(t *testing.T) {
	s, w, st := newShell(t)
	now := time.Now()
	s.o.Now = func() time.Time { return now }
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	if w.got("tools/call") != 1 {
		t.Fatalf("the server has %q", w.lines)
	}
	now = now.Add(time.Hour)
	s.Handle(engine.ServerDown{Reason: "child_exit", Cause: "exited"})
	s.Handle(engine.ServerUp{Hello: engine.Hello{PID: 8, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.Flush()
	if w.got("notifications/cancelled") > 0 || w.got("tools/list") != 2 {
		t.Errorf("the next server gets %q", w.lines[2:])
	}
}

// A listing of ours whose record-mates could not be recorded is made later.
func TestAListingThatCouldNotLeaveIsMadeLater(t *testing.T) {
	s, w, st := newShell(t)
	s.Received(callFrame(t, st, "e1"))
	changed, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), jsonrpc.Passed)
	if err != nil {
		t.Fatal(err)
	}
	s.Handle(engine.ServerSaid{Message: changed})
	w.set(nil, errors.New("disk full"))
	s.Flush()
	if w.got("tools/call") > 0 || w.got("tools/list") != 1 {
		t.Fatalf("lines left without a record: %q", w.lines)
	}
	w.set(nil, nil)
	s.Handle(engine.AuditUp{})
	s.Handle(engine.ServerSaid{Message: *parse(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)})
	s.Flush()
	if w.got("tools/list") != 2 {
		t.Errorf("it is waited for a listing that never left: %q", w.lines)
	}
}

// answerCall answers the last line to the server, which is a call.
func answerCall(t *testing.T, s *Sidecar, w *surroundings, result string) {
	t.Helper()
	w.mu.Lock()
	last := w.lines[len(w.lines)-1]
	w.mu.Unlock()
	m, err := jsonrpc.Parse([]byte(last), jsonrpc.Passed)
	if err != nil || m.Text(jsonrpc.Method) != "tools/call" {
		t.Fatalf("the last line is %s", last)
	}
	answer, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":`+string(m.Get(jsonrpc.ID))+`,`+result+`}`), jsonrpc.Passed)
	if err != nil {
		t.Fatal(err)
	}
	s.Handle(engine.ServerSaid{Message: answer})
}

func (w *surroundings) sent() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	frames := w.frames
	w.frames = nil
	return frames
}

// A call that ran has its result, whether or not that it ended can be put on
// record; if it cannot, the result says so, and is otherwise the server's.
func TestAResultThatIsNotOnRecordSaysSo(t *testing.T) {
	const with, without = `"_meta":{"audit":"incomplete"`, ``
	for _, c := range []struct{ result, want string }{
		{`"result":{"content":[ ],"n":1.0}`, `"result":{` + with + `},"content":[ ],"n":1.0}`},
		{`"result":{}`, `"result":{` + with + `}}`},
		{`"result":{"_meta":{ "x":1},"isError":true}`, `"result":{"_meta":{"audit":"incomplete", "x":1},"isError":true}`},
		{`"result":{"_meta":{"audit" : {"complete":true},"x":1}}`, `"result":{"_meta":{"audit" : "incomplete","x":1}}`},
		{`"result":{"_meta":7}`, `"result":{"_meta":7}`},
		{`"result":[1]`, `"result":[1]`},
		{`"error":{"code":-5,"message":"m"}`, `"error":{"code":-5,"message":"m"}`},
	} {
		for _, broken := range []error{nil, errors.New("disk full")} {
			s, w, st := newShell(t)
			s.Received(callFrame(t, st, "e1"))
			s.Flush()
			w.sent()
			w.set(nil, broken)
			answerCall(t, s, w, c.result)
			s.Flush()
			want := c.result
			if broken != nil {
				want = c.want
			}
			if f := w.sent(); len(f) != 1 || !strings.Contains(f[0], `"id":1,`+want+`}`) || !strings.Contains(f[0], `"correlation_id":"e1"`) {
				t.Errorf("%s came as %q, want %s", c.result, f, want)
			}
		}
	}
}

// A result does not leave before its record is written, and it leaves once: over
// the seat that there is then.
func TestAResultWaitsForItsRecord(t *testing.T) {
	for _, lost := range []bool{false, true} {
		s, w, st := newShell(t)
		s.Received(callFrame(t, st, "e1"))
		s.Flush()
		w.sent()
		hold := make(chan struct{})
		w.set(hold, nil)
		answerCall(t, s, w, `"result":{}`)
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Flush()
		}()
		<-w.begun
		if f := w.sent(); len(f) != 0 {
			t.Errorf("%q left before it was on record", f)
		}
		if lost {
			s.SeatLost(errors.New("cut"))
		}
		w.set(nil, nil)
		close(hold)
		<-done
		if lost {
			if f := w.sent(); len(f) != 0 {
				t.Errorf("%q was sent without a seat", f)
			}
			s.SeatTaken(st.dialect, wire.Welcome{You: wire.Participant{ID: "other"}, Peers: []wire.Participant{{ID: "bob"}}})
		}
		f := w.sent()
		if len(f) != 1 || !strings.Contains(f[0], `"correlation_id":"e1"`) || strings.Contains(f[0], `"other"`) != lost {
			t.Errorf("lost %v: %q was sent", lost, f)
		}
	}
}

// With SyncAll neither a call nor its result leaves before the disk has its
// record; and if the disk cannot have it, the call does not leave at all, and the
// result says so.
func TestWhatIsToBeSyncedWaitsForTheDisk(t *testing.T) {
	for _, broken := range []error{nil, errors.New("the disk is gone")} {
		s, w, st := newShell(t)
		w.syncs = make(chan func(error), 8)
		s.o.SyncAll = true
		w.sent()
		s.Received(callFrame(t, st, "e1"))
		s.Flush()
		if w.got("tools/call") > 0 {
			t.Error("the call left before its record was on disk")
		}
		(<-w.syncs)(nil)
		if w.got("tools/call") != 1 {
			t.Error("the call did not leave")
		}
		answerCall(t, s, w, `"result":{}`)
		s.Received(callFrame(t, st, "e2"))
		s.Flush()
		if f := w.sent(); len(f) != 0 {
			t.Errorf("%q left before it was on disk", f)
		}
		(<-w.syncs)(broken)
		frames, calls := strings.Join(w.sent(), "\n"), w.got("tools/call")
		if strings.Count(frames, `"correlation_id":"e1"`) != 1 || strings.Contains(frames, `"audit":"incomplete"`) != (broken != nil) {
			t.Errorf("%v: %s", broken, frames)
		}
		if refused := strings.Contains(frames, `"code":-31009`); refused != (broken != nil) || refused != (calls == 1) {
			t.Errorf("%v: %d calls left, and %s", broken, calls, frames)
		}
	}
}

// A call is on record and waits for the disk, and somebody halts the bridge. Once that is said
// the call never leaves, be it that the bridge goes on before the disk is done; our own
// questions to the server do.
func TestWhatWaitsForTheDiskWhenTheHaltIsSaidNeverLeaves(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		s, w, st := newShell(t)
		w.syncs = make(chan func(error), 8)
		s.o.SyncAll = true
		w.sent()
		s.Received(callFrame(t, st, "e1"))
		s.Handle(engine.ServerSaid{Message: *st.parse(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)})
		s.Flush()
		onDisk := <-w.syncs
		s.Halt(engine.Halt{By: "local", Why: "enough"})
		(<-w.syncs)(nil)
		if goesOn {
			s.Handle(engine.Resume{By: "local"})
			s.Flush()
			(<-w.syncs)(nil)
		}
		onDisk(nil)
		if n := w.got("tools/call"); n != 0 {
			t.Errorf("after it was halted the server gets %q", w.lines)
		}
		if n := w.got("tools/list"); n != 2 {
			t.Errorf("the server was asked %d times for its tools", n)
		}
		if f := strings.Join(w.sent(), "\n"); !strings.Contains(f, `"code":-31015`) || !strings.Contains(f, `"executed":"no"`) {
			t.Errorf("the caller is told %s", f)
		}
	}
}

// Nor is the server told to end it (seed 511707).
func TestTheServerIsNotToldToEndWhatAHaltKeptFromIt(t *testing.T) {
	s, w, st := newShell(t)
	w.syncs = make(chan func(error), 8)
	s.o.SyncAll = true
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	onDisk := <-w.syncs
	s.Halt(engine.Halt{By: "local", Cancel: true})
	onDisk(nil)
	s.Flush()
	for len(w.syncs) > 0 {
		(<-w.syncs)(nil)
	}
	if w.got("tools/call")+w.got("notifications/cancelled") != 0 {
		t.Errorf("the server gets %q", w.lines)
	}
}

// Another has given the server a call and has not come to say that it may be written: when the
// halt is said, it is.
func TestWhatTheServerWasGivenIsInItsPipeWhenTheHaltIsSaid(t *testing.T) {
	s, w, st := newShell(t)
	w.syncs = make(chan func(error), 8)
	s.o.SyncAll = true
	p := &pipe{surroundings: w, hold: make(chan struct{}), begun: make(chan struct{})}
	s.Bind(w, p)
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	var other sync.WaitGroup
	onDisk := <-w.syncs
	other.Go(func() { onDisk(nil) })
	<-p.begun
	s.Halt(engine.Halt{By: "local", Why: "enough"})
	if w.got("tools/call") != 1 {
		t.Error("a call is on its way to the server, and the halt is said")
	}
	close(p.hold)
	other.Wait()
}

// A pipe has what was put at the next Flush, of which the first comes late.
type pipe struct {
	*surroundings
	put   []string
	hold  chan struct{}
	begun chan struct{}
	late  atomic.Bool
}

func (p *pipe) Put(line []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put = append(p.put, string(line))
	return nil
}

func (p *pipe) Flush() {
	if !p.late.Swap(true) {
		close(p.begun)
		<-p.hold
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines, p.put = append(p.lines, p.put...), nil
}
