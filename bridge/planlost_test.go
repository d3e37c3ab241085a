package bridge

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// plannedShell is a sidecar with a plan that a person has just agreed to, whose yes is not on the disk yet.
func plannedShell(t *testing.T) (*Sidecar, *heldSync) {
	t.Helper()
	st, w, log := newGround(t, "mcpx/v0.1", "version: 1\ndefault: ask\nasks: {default: {of: [local], remember: [once, session]}}\n"), &surroundings{}, &heldSync{syncs: make(chan func(error), 1)}
	s := New(Options{Engine: engine.Config{Policy: st.policy, NewID: st.newID, Local: true, Random: func() [16]byte { return [16]byte{} }}, Audit: log})
	s.Bind(w, w)
	s.SeatTaken(st.dialect, wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}})
	raise(t, s, w)
	e, err := st.dialect.Decode([]byte(`{"protocol":"mcpx/v0.1","id":"e1","ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:mcpx/plan",` +
		`"payload":{"jsonrpc":"2.0","id":1,"method":"mcpx/plan","params":{"items":[{"tool":"read_file","uses":1,"args":{"/path":{"is":"a"}}}],"seconds":600}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s.Received(&e)
	asked := s.Pending(0, 0)
	if len(asked) != 1 {
		t.Fatalf("asked is %v %q", asked, w.frames)
	}
	q, _ := s.View(asked[0].ID, true)
	s.Decide(approval.Answer{Who: approval.Who{Door: approval.Local}, Question: q.ID, Digest: q.Digest, Result: []byte(`{"action":"accept","content":{"approve":true}}`)})
	return s, log
}

// A plan counts from its yes, which is on the disk. That it began could not be put on record: then
// the log said that the plan was rejected.
func TestAPlanThatBeganIsOnRecordWhenTheLogIsWell(t *testing.T) {
	s, log := plannedShell(t)
	log.fails = 1
	log.ends(nil)
	s.Flush()
	if n := len(s.Grants()); n != 1 || log.fails > 0 {
		t.Fatalf("%d plans count", n)
	}
	if log.count(`"event":"rejected"`) > 0 || log.count(`"event":"started"`) != 1 || log.count(`"event":"ended"`, `"executed":"yes"`) != 1 {
		t.Errorf("on record is %q", log.kept)
	}
}

// The log is well some time before we hear of that, and takes what comes meanwhile: a halt that
// came then stood before the start of a plan from before it, so that the log did not verify.
func TestWhatIsOwedGoesBeforeWhatAWellLogTakes(t *testing.T) {
	s, log := plannedShell(t)
	log.fails, log.meanwhile = 1, func() { log.down = true }
	log.ends(nil)
	s.Flush()
	if !log.down || log.fails > 0 || log.count(`"event":"started"`) != 0 {
		t.Fatalf("on record is %q", log.kept)
	}
	log.down = false
	s.Handle(engine.Halt{By: "local"})
	s.Flush()
	log.ends(nil)
	s.Handle(engine.AuditUp{})
	s.Flush()
	at := func(event string) int {
		return slices.IndexFunc(log.kept, func(r string) bool { return strings.Contains(r, `"event":"`+event+`"`) })
	}
	if started, halted := at("started"), at("halted"); started < 0 || halted < started || log.count(`"event":"started"`) != 1 {
		t.Errorf("on record is %q", log.kept)
	}
}

// What ends a subscription here runs without a line, and so began when its leave could not be put
// on record: then the log had a start without it, and did not verify.
func TestWhatStaysHereIsOnRecordWithItsLeaveWhenTheLogIsWell(t *testing.T) {
	st, w, log := newGround(t, "mcpx/v0.1", "version: 1\ndefault: allow\n"), &surroundings{}, &flakyLog{}
	s := New(Options{Engine: engine.Config{Policy: st.policy, NewID: st.newID, Hosted: true, Random: func() [16]byte { return [16]byte{} }}, Audit: log})
	s.Bind(w, w)
	s.SeatTaken(st.dialect, wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}})
	raise(t, s, w)
	e, err := st.dialect.Decode([]byte(`{"protocol":"mcpx/v0.1","id":"e1","ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:resources/unsubscribe:file:///a",` +
		`"payload":{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	log.fails = 1
	s.Received(&e)
	s.Flush()
	for _, event := range []string{"decided", "started", "ended"} {
		if log.count(`"event":"`+event+`"`, `"call":`) != 1 || log.fails > 0 {
			t.Errorf("%s: on record is %q", event, log.kept)
		}
	}
}
