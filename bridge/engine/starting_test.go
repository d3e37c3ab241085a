package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// startingStage has a seat, and a server that was started a moment ago.
func startingStage(t *testing.T) *stage {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.frames, s.notes = nil, nil
	return s
}

func (s *stage) failStart(retry time.Duration) {
	s.do(ServerDown{Reason: "child_exit", Cause: "exited with status 1", ExitCode: 1, Retry: retry})
}

// A call of a server that was being downloaded found nobody of that name.
func TestCallsWaitForTheFirstStart(t *testing.T) {
	s := startingStage(t)
	s.pass(4 * time.Second)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"e1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:tools/call","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
		`"params":{"name":"read_file","arguments":{"path":"/a"},"_meta":{"progressToken":"t"}}}}`)
	s.has(s.only(), `"notifications/progress"`, `"progressToken":"t","progress":0.000000001,"message":"fs is starting, 4 s"`, `"to":["bob"]`)
	s.call("carol", "e2", `2`, "delete_file", `{"path":"/b"}`)
	s.has(s.only(), Starting, `"params":{"seconds":4,"message":"fs is starting, 4 s"}`, `"to":["carol"]`)
	s.call("bob", "e3", `3`, "no_such_tool", `{}`)
	s.call("bob", "e4", `4`, "read_file", `{"path":"/d"}`)
	s.cancel("bob", "e5", `4`)
	s.call("mallory", "e6", `6`, "read_file", `{"path":"/e"}`)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"p","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"leave","participant":{"id":"mallory"}}}`)
	s.frames = nil
	s.pass(15 * time.Second)
	s.has(strings.Join(s.frames, "\n"), `"progress":0.000000002,"message":"fs is starting, 19 s"`, `"seconds":19`)
	s.frames = nil
	if s.asked() != 0 || len(s.lines) > 0 {
		t.Errorf("the server that is not up got %q", s.lines)
	}

	s.failStart(250 * time.Millisecond) // the first try
	s.nothing("while there is hope")
	s.startServer()
	var answers []string
	for _, f := range s.frames {
		if !strings.Contains(f, "list_changed") {
			answers = append(answers, f)
		}
	}
	if len(answers) != 2 {
		t.Fatalf("answered was %q, not carol and then bob", answers)
	}
	s.has(answers[0], `"e2"`, `"code":-31004`)
	s.has(answers[1], `"e3"`, `"code":-32602`)
	if s.asked() != 1 {
		t.Errorf("the server got %d calls: %q", s.asked(), s.lines)
	}
	if !s.noted(record.Withdrawn, "cancelled") || !s.noted(record.Withdrawn, "caller_left") {
		t.Errorf("who took it back, or left, is not on record: %v", s.notes)
	}

	s.frames = nil
	s.said(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + s.lastID() + `,"progress":1}}`)
	s.has(s.only(), `"progressToken":"t","progress":1`) // as it came, and more than what the caller has heard
	s.failStart(time.Second)
	s.frames = nil
	s.call("bob", "e7", `7`, "read_file", `{"path":"/a"}`)
	s.has(s.only(), `"code":-31007`, `"retry_after_ms":1000`) // that is no first start
}

func TestAServerThatNeverComesUpIsAClearNo(t *testing.T) {
	s := startingStage(t)
	s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
	s.failStart(250 * time.Millisecond)
	s.frames = nil
	s.failStart(-1)
	s.has(s.only(), `"code":-31007`, `the server is not running: it exited with status 1`, `"executed":"no"`, `"retryable":false`)
	s.call("bob", "e2", `2`, "read_file", `{"path":"/a"}`)
	s.has(s.only(), `"code":-31007`)
}

func TestNobodyWaitsForAStartForEver(t *testing.T) {
	s := startingStage(t)
	s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
	s.pass(time.Minute) // as long as a call may take
	s.has(s.frames[len(s.frames)-1], `"e1"`, `"code":-31007`, `the server is still starting, after 1m0s`, `"executed":"no"`)
	s.frames = nil
	for i := range 5 { // four are as many as there may be
		s.call("carol", fmt.Sprint("f", i), fmt.Sprint(i+10), "read_file", `{"path":"/a"}`)
	}
	s.has(s.frames[4], `"f4"`, `"code":-31007`, `as many requests wait for that as may`)
	s.startServer()
	if s.asked() != 4 {
		t.Errorf("%d of 4 ran", s.asked())
	}
}

// What waits when the bridge ends at once, as it does when its server never came up, was
// held by a pause for good.
func TestWhoLeavesSpeaksAlsoInAPause(t *testing.T) {
	s := emptyStage(t, "mew/v0.4")
	s.seat()
	s.arrive(mewHead + `"id":"e1","from":"bob","kind":"mcp/request","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/a"}}}}`)
	s.frames = nil
	s.arrive(mewHead + `"id":"s","from":"carol","kind":"participant/request-status"}`)
	s.has(s.only(), `"status":"starting"`)
	s.arrive(mewHead + `"id":"c","from":"carol","kind":"participant/pause","payload":{"timeout_seconds":100}}`)
	s.frames = nil
	s.failStart(-1)
	s.nothing("in a pause")
	s.do(Leaving{})
	s.has(strings.Join(s.frames, "\n"), `"code":-31007`)
}

// A proposal is not turned down for what nobody can know yet.
func TestProposalsWaitForTheFirstStart(t *testing.T) {
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, allowsSome), Local: true})
	s.seat()
	s.frames = nil
	propose := func(id, needs string) {
		s.arrive(`{"protocol":"mcpx/v0.1","id":"` + id + `","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/proposal:tools/call:write_file",` +
			`"payload":{"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/` + id + `"}}` + needs + `}}`)
	}
	propose("p1", "")
	propose("p2", `,"required_capabilities":["read_file"]`)
	propose("p3", `,"required_capabilities":["teleport"]`)
	propose("p4", "")
	s.arrive(`{"protocol":"mcpx/v0.1","id":"w","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcpx.withdraw.proposal","correlation_id":"p4","payload":{"reason":"no"}}`)
	s.nothing("while it starts")
	s.startServer()
	all := strings.Join(s.frames, "\n")
	s.has(all, `we do not offer \"teleport\"`)
	if len(s.shown) != 2 {
		t.Errorf("%d of the two that can be served were put before somebody: %s", len(s.shown), all)
	}
}

// A server takes long to come up, and the gateway delivers a request that waits for it once more when
// it is remembered no longer: it is one request, and runs once.
func TestACopyOfWhatWaitsForTheStartDoesNotRun(t *testing.T) {
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, "version: 1\ndefault: allow\n")})
	s.engine.timeout = time.Hour
	s.seatWith("bob")
	s.call("bob", "e1", "1", "read_file", `{"path":"/a"}`)
	s.pass(20 * time.Minute)
	s.call("bob", "e1", "1", "read_file", `{"path":"/a"}`)
	s.startServer()
	if s.asked() != 1 || !s.noted(record.Dropped, "duplicate_envelope") {
		t.Errorf("the server got %d calls", s.asked())
	}
}

// Nobody fills the room for what waits: four calls of one, as large as calls may be, kept everybody
// else from waiting.
func TestWhatOneHasWaitLeavesRoomForOthers(t *testing.T) {
	s := startingStage(t)
	large := make([]byte, jsonrpc.MaxSize)
	for _, from := range []string{"bob", "carol", "dave"} {
		env := &wire.Envelope{From: from, Payload: large}
		if !s.engine.mayAwait(env) {
			t.Fatalf("there is no room for %s", from)
		}
		s.engine.awaiting = append(s.engine.awaiting, &awaiting{env: env})
		if s.engine.mayAwait(&wire.Envelope{From: from, Payload: large[:1]}) {
			t.Errorf("%s may have more", from)
		}
	}
}

// What is over waits no longer: proposals that were withdrawn kept their proposer from calling.
func TestAWithdrawnProposalDoesNotWaitForTheStart(t *testing.T) {
	s := startingStage(t)
	for n := range awaitingShare {
		id := fmt.Sprint("p", n)
		s.proposes("bob", id, "fs", "read_file", `{"path":"/a"}`, "")
		s.withdraws("bob", id)
	}
	s.call("bob", "e1", "1", "read_file", `{"path":"/a"}`)
	if last := s.engine.awaiting[len(s.engine.awaiting)-1]; last.env.ID != "e1" || len(s.engine.awaiting) != 1 {
		t.Errorf("%d wait, the last is %s: %s", len(s.engine.awaiting), last.env.ID, s.frames[len(s.frames)-1])
	}
}

// Of what anybody may serve, its proposer heard that it waits here, from the bridge that had no room for
// it and left it to others, and never more.
func TestWhatHasNoRoomToWaitForTheStartIsNotSaidToWait(t *testing.T) {
	s := takenWhileStarting(t, "mcpx/v0.1", strings.Replace(raceRules, "fulfil: ask", "fulfil: ask, broadcast: true", 1))
	s.engine.room.caps, _ = wire.ParseCaps([]byte(`["mcp/*","proposal-response","proposal-reject"]`))
	propose := func(id string) {
		s.arrive(`{"protocol":"mcpx/v0.1","id":"` + id + `","ts":"2026-01-01T00:00:00Z","from":"bob","kind":"proposal",` +
			`"payload":{"method":"tools/call","request_response":true,"params":{"name":"write_file","arguments":{"path":"/a"}}}}`)
	}
	for n := range s.engine.maxCalls {
		propose(fmt.Sprint("p", n))
		s.has(s.only(), `"kind":"proposal-response"`, `"status":"defer"`)
	}
	propose("last")
	s.nothing("it is left to others")
	if !s.noted(record.Rejected, "incapable") {
		t.Errorf("on record is %+v", s.lastNote(record.Rejected))
	}
}

// takenWhileStarting has everybody here, and a server that has not come up.
func takenWhileStarting(t *testing.T, protocol, policy string) *stage {
	s := stageWith(t, lookup(t, protocol), Config{Policy: rules(t, policy), TrustUnverified: true})
	s.seatWith("alice", "bob", "carol", "mallory")
	s.frames, s.notes = nil, nil
	return s
}

func (s *stage) startWithMoreTools() {
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.answerListing(moreTools)
}

// What is proposed while the server starts waits for that, and nothing had kept it: who took it
// meanwhile and did not do it ended it, and its proposer never heard (seed 93124354).
func TestWhatIsTakenWhileTheServerStartsComesBack(t *testing.T) {
	const fulfils = "fulfil: ask, broadcast: true"
	asksAll := strings.Replace(raceRules, "fulfil: ask", fulfils, 1)
	for what, c := range map[string]struct {
		tool string
		take func(s *stage)
	}{
		"a request of us came before it, and alice says no": {"write_file", func(s *stage) {
			s.frameTo("mallory", "fs", "r1", "p1", "write_file", path)
			s.proposes("bob", "p1", "", "write_file", path, "")
			s.startWithMoreTools()
			s.answers("alice", s.question(), true, `{"action":"decline"}`)
		}},
		"a request of us came before it, and the server takes no line": {"read_file", func(s *stage) {
			s.frameTo("mallory", "fs", "r1", "p1", "read_file", path)
			s.proposes("bob", "p1", "", "read_file", path, "")
			s.startWithMoreTools()
			s.do(NotWritten{Call: s.writes[len(s.writes)-1].Call, Err: errors.New("full")})
			s.lines = nil
		}},
		"carol refuses before the start is over": {"write_file", func(s *stage) {
			s.proposes("bob", "p1", "", "write_file", path, "")
			s.frameTo("mallory", "carol", "r1", "p1", "write_file", path)
			s.refuses("mallory")
			s.startWithMoreTools()
		}},
		"carol refuses afterwards": {"write_file", func(s *stage) {
			s.proposes("bob", "p1", "", "write_file", path, "")
			s.frameTo("mallory", "carol", "r1", "p1", "write_file", path)
			s.startWithMoreTools()
			s.refuses("mallory")
		}},
	} {
		s := takenWhileStarting(t, "mew/v0.4", asksAll)
		c.take(s)
		if !s.noted(record.Reopened, "") {
			t.Errorf("%s: it does not come back", what)
			continue
		}
		s.answers("alice", s.question(), true, yes)
		if s.echo(s.claim("p1")); s.asked() != 1 {
			t.Errorf("%s: it ran %d times", what, s.asked())
		}
	}
}

// What it requires could not be looked up when it came, and is when it comes back.
func TestWhatComesBackAfterTheStartStillRequiresWhatItDid(t *testing.T) {
	s := takenWhileStarting(t, "mcpx/v0.1", raceRules)
	s.proposes("bob", "p1", "", "write_file", path, `,"preferred":["fs","carol"],"required_capabilities":["teleport"]`)
	s.frameTo("mallory", "carol", "r1", "p1", "write_file", path)
	s.startWithMoreTools()
	s.refuses("mallory")
	if _, is := s.maybeQuestion(); is || !s.noted(record.Reopened, "") {
		t.Error("alice is asked about what requires more than we offer, or it does not come back")
	}
	s.rejected("incapable")
}

// Mallory's request fails as soon as the start is over, for the gateway lets no question pass, and what bob
// proposed comes back while it is in turn itself. It was judged twice, and one of the two calls ran after
// the other was the reject that bob was told.
func TestWhatComesBackAsTheStartIsOverIsJudgedOnce(t *testing.T) {
	const asksOfMallory = "version: 1\ndefault: deny\nasks: {default: {of: [alice]}}\nrules:\n - {name: hers, from: [mallory], ask: ['write_*']}\n" +
		" - {name: his, from: [bob], allow: ['write_*']}\nproposals: {fulfil: policy, broadcast: true}\n"
	caps, err := wire.ParseCaps([]byte(`["mcp/response:*","mcp/reject","mcp/request:tools/*"]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"", "fs"} {
		s := takenWhileStarting(t, "mcpx/v0.1", asksOfMallory)
		s.engine.room.caps = caps
		s.frameTo("mallory", "fs", "r1", "p1", "write_file", path)
		s.proposes("bob", "p1", to, "write_file", path, "")
		s.startWithMoreTools()
		judged := 0
		for _, r := range s.notes {
			if r.Event == record.Decided && r.From == "bob" {
				judged++
			}
		}
		if s.echo(s.claim("p1")); judged != 1 || s.asked() != 1 || !s.noted(record.Reopened, "") {
			t.Errorf("to %q: it is judged %d times, and runs %d times", to, judged, s.asked())
		}
		s.rejected()
	}
}

// One who takes back one of two requests under one id says which, also while the server starts; and
// one without an id is taken back by that of its envelope.
func TestWhatIsTakenBackWhileTheServerStartsIsWhatIsMeant(t *testing.T) {
	s := stageWith(t, lookup(t, "mew/v0.4"), Config{Policy: rules(t, allowsSome)})
	s.seat()
	s.says("bob", "e1", wire.Request, "tools/call", "read_file", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/1"}}}`)
	s.says("bob", "e2", wire.Request, "tools/call", "read_file", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/2"}}}`)
	s.says("bob", "c1", wire.Notification, "notifications/cancelled", "", "e1", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	s.says("bob", "e3", wire.Request, "tools/call", "read_file", "", `{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/3"}}}`)
	s.says("bob", "e4", wire.Request, "tools/call", "read_file", "", `{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/4"}}}`)
	s.says("bob", "c2", wire.Notification, "notifications/cancelled", "", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"e3"}}`)
	s.startServer()
	lines := strings.Join(s.lines, "\n")
	for _, c := range []struct {
		path string
		runs bool
	}{{"/1", false}, {"/2", true}, {"/3", false}, {"/4", true}} {
		if strings.Contains(lines, `"`+c.path+`"`) != c.runs {
			t.Errorf("%s runs: %v", c.path, !c.runs)
		}
	}
}
