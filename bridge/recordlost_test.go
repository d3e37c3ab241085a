package bridge

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A result that waits for a seat says so too when its end could not be put on
// record.
func TestAResultThatWaitedIsMarked(t *testing.T) {
	s, w, st, log := flakyShell(t)
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	s.SeatLost(errors.New("gone"))
	log.fails = 1 << 20
	m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`), jsonrpc.Passed)
	if err != nil {
		t.Fatal(err)
	}
	s.Handle(engine.ServerSaid{Message: m})
	s.Flush()
	s.SeatTaken(st.dialect, wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}})
	got := strings.Join(w.frames, "\n")
	if !strings.Contains(got, `"correlation_id":"e1"`) || !strings.Contains(got, `"audit":"incomplete"`) {
		t.Errorf("the caller was told %s", got)
	}
}

// The seat comes back at the very moment in which the end cannot be written.
func TestAResultThatLeavesWhileItsEndIsLostIsMarked(t *testing.T) {
	s, w, st, log := flakyShell(t)
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	s.SeatLost(errors.New("gone"))
	m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`), jsonrpc.Passed)
	if err != nil {
		t.Fatal(err)
	}
	s.Handle(engine.ServerSaid{Message: m})
	log.fails = 1
	log.meanwhile = func() {
		s.Handle(engine.Seated{Dialect: st.dialect, Welcome: wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}}})
	}
	s.Flush()
	got := strings.Join(w.frames, "\n")
	if strings.Count(got, `"correlation_id":"e1"`) != 1 || !strings.Contains(got, `"audit":"incomplete"`) {
		t.Errorf("the caller was told %s", got)
	}
}

// A flakyLog fails as often as it is told, and says after each time that it is well, or
// that it is down.
type flakyLog struct {
	fails     int
	down      bool
	kept      []string
	meanwhile func() // during the next write
}

func (l *flakyLog) Append(records ...[]byte) error {
	if then := l.meanwhile; then != nil {
		l.meanwhile = nil
		then()
	}
	if l.fails > 0 {
		l.fails--
		return errors.New("input/output error")
	}
	for _, r := range records {
		l.kept = append(l.kept, string(r))
	}
	return nil
}

func (l *flakyLog) Sync(done func(error)) { go done(nil) }

func (l *flakyLog) Err() error {
	if l.down {
		return errors.New("input/output error")
	}
	return nil
}

func (l *flakyLog) count(parts ...string) (n int) {
next:
	for _, r := range l.kept {
		for _, p := range parts {
			if !strings.Contains(r, p) {
				continue next
			}
		}
		n++
	}
	return n
}

func flakyShell(t *testing.T) (*Sidecar, *surroundings, *ground, *flakyLog) {
	t.Helper()
	st, w, log := newGround(t, "mcpx/v0.1", allowsSome), &surroundings{}, &flakyLog{}
	s := New(Options{Engine: engine.Config{Policy: st.policy, NewID: st.newID, Random: func() [16]byte { return [16]byte{} }}, Audit: log})
	s.Bind(w, w)
	s.SeatTaken(st.dialect, wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}})
	raise(t, s, w)
	return s, w, st, log
}

// A log that fails, is mended, and fails again keeps the end of every call all
// the same.
func TestLastWordsAreTriedAgainAndAgain(t *testing.T) {
	s, w, st, log := flakyShell(t)
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	m, err := jsonrpc.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, 2), jsonrpc.Passed)
	if err != nil || w.got("tools/call") != 1 {
		t.Fatal(err, w.lines)
	}
	log.fails = 3
	s.Handle(engine.ServerSaid{Message: m})
	s.Flush()
	if n := log.count(`"event":"ended"`); n != 1 {
		t.Errorf("the end of the call is on record %d times: %q", n, log.kept)
	}
	log.fails = 1 << 20 // what is never taken is given up
	s.Received(callFrame(t, st, "e2"))
	s.Flush()
}

// A yes that was taken back while the log failed does not count any more, and is on record as
// taken back, once, when the log is well again, be it only at the third time.
func TestATakenBackYesIsOnRecordWhenTheLogIsWell(t *testing.T) {
	st, w, log := newGround(t, "mcpx/v0.1", allowsSome), &surroundings{}, &flakyLog{}
	kept := []approval.Grant{{ID: "9c01d2ee", Keep: "always", Caller: "bob", Method: "tools/call", Tool: "read_file", Until: time.Now().Add(time.Hour)}}
	s := New(Options{Engine: engine.Config{Policy: st.policy, NewID: st.newID, Desk: approval.Options{Grants: kept}, Random: func() [16]byte { return [16]byte{} }}, Audit: log})
	s.Bind(w, w)
	log.fails, log.down = 3, true
	if !s.Revoke("9c01d2ee") || len(s.Grants()) > 0 {
		t.Fatal("it was not taken back")
	}
	log.down = false
	s.Handle(engine.AuditUp{})
	s.Flush()
	if n := log.count(`"event":"revoked"`, `"grant":"9c01d2ee"`); n != 1 {
		t.Errorf("it is on record %d times: %q", n, log.kept)
	}
}

// A yes that is on record, and not on the disk, nobody has given: that is on record too when the
// log is well again.
func TestAYesThatIsNotOnTheDiskIsOnRecordAsTakenBack(t *testing.T) {
	st, w, log := newGround(t, "mcpx/v0.1", "version: 1\ndefault: ask\nasks: {default: {of: [local], remember: [once, session]}}\n"), &surroundings{}, &heldSync{syncs: make(chan func(error), 1)}
	s := New(Options{Engine: engine.Config{Policy: st.policy, NewID: st.newID, Local: true, Random: func() [16]byte { return [16]byte{} }}, Audit: log})
	s.Bind(w, w)
	s.SeatTaken(st.dialect, wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}})
	raise(t, s, w)
	s.Received(callFrame(t, st, "e1"))
	asked := s.Pending(0, 0)
	if len(asked) != 1 {
		t.Fatalf("asked is %v", asked)
	}
	q, _ := s.View(asked[0].ID, true)
	s.Decide(approval.Answer{Who: approval.Who{Door: approval.Local}, Question: q.ID, Digest: q.Digest, Result: []byte(`{"action":"accept","content":{"approve":true,"remember":"session"}}`)})
	log.fails, log.down = 1, true
	log.ends(errors.New("input/output error"))
	log.down = false
	s.Handle(engine.AuditUp{})
	s.Flush()
	if log.fails > 0 || log.count(`"event":"decided"`, `"keep":"session"`) != 1 || log.count(`"event":"revoked"`) != 1 {
		t.Errorf("on record is %q", log.kept)
	}
}

// A call that was started and taken back before either could be put on record
// never left: its last words are no end, for it had no beginning.
func TestACallThatNeverLeftHasNoEnd(t *testing.T) {
	s, w, st, log := flakyShell(t)
	log.fails = 1
	s.Received(callFrame(t, st, "e1"))
	e, err := st.dialect.Decode([]byte(`{"protocol":"mcpx/v0.1","id":"e2","ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:notifications/cancelled",` +
		`"payload":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s.Received(&e)
	s.Flush()
	if w.got("tools/call") > 0 {
		t.Errorf("it left: %q", w.lines)
	}
	if log.count(`"event":"ended"`) > 0 || log.count(`"event":"withdrawn"`, `"executed":"no"`) != 1 {
		t.Errorf("its last words: %q", log.kept)
	}
}

// The same when it ended while its start was being written, which failed.
func TestACallThatEndsWhileItsStartIsLostHasNoEnd(t *testing.T) {
	s, w, st, log := flakyShell(t)
	log.fails = 1
	log.meanwhile = func() {
		s.Handle(engine.ServerDown{Reason: "exit", Cause: "exited with status 1", Unsent: 0, Retry: time.Second})
	}
	s.Received(callFrame(t, st, "e1"))
	s.Flush()
	if w.got("tools/call") > 0 {
		t.Errorf("it left: %q", w.lines)
	}
	if log.count(`"event":"ended"`) > 0 || log.count(`"event":"rejected"`, `"env":"e1"`) != 1 {
		t.Errorf("its last words: %q", log.kept)
	}
}

// Nor has one that times out while its start is being written, which takes so
// long that it comes to light together with the failure.
func TestACallThatTimesOutWhileItsStartIsLostHasNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, st, log := flakyShell(t)
		log.fails = 1
		log.meanwhile = func() { time.Sleep(2 * time.Minute) }
		s.Received(callFrame(t, st, "e1"))
		s.Flush()
		if w.got("tools/call") > 0 {
			t.Errorf("it left: %q", w.lines)
		}
		if log.count(`"event":"ended"`) > 0 || log.count(`"event":"rejected"`, `"env":"e1"`) != 1 {
			t.Errorf("its last words: %q", log.kept)
		}
	})
}
