package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/outgoing"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func TestACallCrossesAndComesBackWithItsOwnID(t *testing.T) {
	for _, id := range []string{`7`, `"7"`, `0`, `-1`, `1.0`, `9007199254740993`} {
		s := newStage(t, "mcpx/v0.1")
		s.call("bob", "e1", id, "read_file", `{"path":"<&>\u2028"}`)
		n := s.lastID()
		s.has(s.lines[0], `"params":{"name":"read_file","arguments":{"path":"<&>\u2028"}}`)
		s.said(`{"jsonrpc":"2.0","x":9007199254740993,"id":` + n + `,"result":{"b":1,"a":"<&>","n":1.0}}`)
		s.has(s.only(), `"to":["bob"]`, `"correlation_id":"e1"`,
			`"payload":{"jsonrpc":"2.0","x":9007199254740993,"id":`+id+`,"result":{"b":1,"a":"<&>","n":1.0}}`)
	}
}

func TestHowACallEndedIsOnRecord(t *testing.T) {
	for answer, want := range map[string]string{
		`"result":{"content":[]}`:                       "ok",
		`"result":{"content":[],"isError":false}`:       "ok",
		`"result":{"isError":true,"content":[]}`:        "tool_error",
		`"result":{"content":[{"isError":true}]}`:       "ok",
		`"error":{"code":-32050,"message":"x"}`:         "error",
		`"result":null,"error":{"code":1,"message":""}`: "error",
		`"result":{"content":[]},"error":null`:          "ok",
	} {
		s := newStage(t, "mcpx/v0.1")
		s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
		s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,` + answer + `}`)
		if last := s.notes[len(s.notes)-1]; last.Event != record.Ended || last.Outcome != want {
			t.Errorf("%s: %s %s, want %s", answer, last.Event, last.Outcome, want)
		}
	}
}

func TestTheSameIDFromTwoCallersIsTwoCalls(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	first := s.lastID()
	s.call("carol", "e2", "1", "read_file", `{"path":"b"}`)
	second := s.lastID()
	if first == second {
		t.Fatal("both calls have one id at the server")
	}
	s.said(`{"jsonrpc":"2.0","id":` + second + `,"result":"second"}`)
	s.has(s.only(), `"to":["carol"]`, `"id":1`, `"second"`)
	s.said(`{"jsonrpc":"2.0","id":` + first + `,"result":"first"}`)
	s.has(s.only(), `"to":["bob"]`, `"id":1`, `"first"`)
}

// A participant that uses an id again while a call under it is open has an
// answer to each: answers go by envelope. What it takes back by that id does
// not run, unless it says which of them it means.
func TestTheSameIDTwiceFromOneCallerIsTwoCalls(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.asksFor("bob", "e1", "1", "write_file", `{"path":"/1"}`, "")
		first := s.question()
		s.asksFor("bob", "e2", "1", "write_file", `{"path":"/2"}`, "")
		s.question()
		s.asksFor("bob", "e3", "1", "read_file", `{"path":"/3"}`, "")
		third := s.lastID()
		s.takesBack("bob", "c1", "1", "e2")
		s.has(s.only(), `"to":["alice"]`, "notifications/cancelled")
		s.answers("alice", first, true, yes)
		s.has(s.lines[len(s.lines)-1], `"path":"/1"`)
		s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":"first"}`)
		s.has(s.only(), `"to":["bob"]`, `"e1"`, `"id":1`, `"first"`)
		s.said(`{"jsonrpc":"2.0","id":` + third + `,"result":"third"}`)
		s.has(s.only(), `"e3"`, `"third"`)
		if n := len(s.engine.calls.Open) + len(s.engine.calls.ByCaller); n != 0 {
			t.Errorf("%d calls are remembered that have ended", n)
		}
	})
}

func TestACancellationReachesEveryCallUnderItsID(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.asksFor("bob", "e1", "1", "read_file", `{"path":"/1"}`, "")
		n := s.lastID()
		s.asksFor("bob", "e2", "1", "write_file", `{"path":"/2"}`, "")
		second := s.question()
		s.asksFor("carol", "e3", "1", "write_file", `{"path":"/3"}`, "")
		hers := s.question()
		s.takesBack("bob", "c1", "1", "")
		s.has(s.only(), `"to":["alice"]`, "notifications/cancelled")
		s.has(s.lines[len(s.lines)-1], "notifications/cancelled", `"requestId":`+n)
		s.said(`{"jsonrpc":"2.0","id":` + n + `,"result":{}}`)
		s.answers("alice", second, true, yes)
		s.nothing("bob took both back")
		s.answers("alice", hers, true, yes)
		s.has(s.lines[len(s.lines)-1], `"path":"/3"`)
	})
}

func TestNothingRunsThatNobodyAllowed(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "delete_file", `{}`)
	s.has(s.only(), `"code":-31004`, `"executed":"no"`, `"reason":"policy_denied"`)
	if s.asked() != 0 {
		t.Error("a denied call reached the server")
	}
}

func TestWhatCannotWorkIsRefusedBeforeThePolicyIsAsked(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i, c := range []struct{ tool, arguments, want string }{
		{"nope", `{}`, `"reason":"unknown_tool"`},
		{"write_file", `{"path":"a","mode":9999}`, `/mode`},
		{"write_file", `{}`, `path`},
		{"write_file", `"/tmp/x"`, `must be an object`},
		{"write_file", `[]`, `must be an object`},
		{"write_file", `{"path":"a","other":1}`, `other`},
	} {
		s.call("bob", fmt.Sprint("e", i), "1", c.tool, c.arguments)
		s.has(s.only(), `"code":-32602`, c.want)
	}
	if s.asked() != 0 {
		t.Error("a call that cannot work reached the server")
	}
}

func TestARequestToSeveralOrToNobodyDoesNotRun(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i, to := range []string{`"to":["other"],`, `"to":["fs","other"],`, `"to":[],`, ``} {
		s.arrive(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"m%d","ts":"2026-01-01T00:00:00Z","from":"bob",%s"kind":"mcp/request:tools/call","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}}`, i, to))
	}
	s.nothing("not addressed to exactly us")
	if s.asked() != 0 {
		t.Error("it ran")
	}
}

func TestADuplicateRunsOnceAndASwappedBodyNever(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.call("bob", "e1", "1", "read_file", `{"path":"other"}`)
	if s.asked() != 1 {
		t.Errorf("the server was asked %d times", s.asked())
	}
	if !s.noted(record.Dropped, "duplicate_envelope") || !s.noted(record.Dropped, "duplicate_id_different_body") {
		t.Error("the duplicates are not on record")
	}
	s.call("carol", "e1", "1", "read_file", `{"path":"c"}`)
	if s.asked() != 2 {
		t.Error("another participant's envelope of the same id was taken for a duplicate")
	}
	s.do(Unseated{})
	s.seat()
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	if s.asked() != 2 {
		t.Error("a duplicate ran after a reconnect")
	}
}

// A flood of another participant's makes nothing run twice, and one's own is
// refused instead of forgotten (FINDINGS M2).
func TestAFloodBetweenAFrameAndItsRepeatRunsNothingTwice(t *testing.T) {
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, allowsSome), Share: 50})
	s.seatWith("bob", "mallory")
	s.startServer()
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	for i := range 200 {
		s.arrive(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"f%d","ts":"2026-01-01T00:00:00Z","from":"mallory","to":["fs"],"kind":"mcp/request:ping","payload":{"jsonrpc":"2.0","id":1,"method":"ping"}}`, i))
	}
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	if s.asked() != 1 {
		t.Errorf("the server was asked %d times", s.asked())
	}
	s.frames = nil
	s.call("mallory", "g", "1", "read_file", `{"path":"a"}`)
	if s.asked() != 1 || !s.noted(record.Ended, "busy") {
		t.Error("what cannot be known again was taken")
	}
	s.call("bob", "e2", "1", "read_file", `{"path":"a"}`)
	if s.asked() != 2 {
		t.Error("bob has to pay for what mallory sent")
	}
}

func TestACancelledCallHasNoAnswer(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "42", "read_file", `{"path":"a"}`)
	n := s.lastID()
	s.cancel("mallory", "c1", "42")
	if len(s.lines) != 1 {
		t.Fatal("somebody else's cancellation reached the server")
	}
	s.cancel("bob", "c2", "42")
	s.has(s.lines[1], `"method":"notifications/cancelled"`, `"requestId":`+n)
	s.said(`{"jsonrpc":"2.0","id":` + n + `,"result":{}}`)
	s.nothing("a result after the cancellation")
}

func TestCancelledCallsDoNotCountAsTimeouts(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i := range 4 {
		s.call("bob", fmt.Sprint("e", i), fmt.Sprint(i), "read_file", `{"path":"a"}`)
		s.cancel("bob", fmt.Sprint("c", i), fmt.Sprint(i))
	}
	s.pass(2 * time.Minute)
	if len(s.restarts) > 0 {
		t.Error("the server was restarted because it did not answer cancelled calls")
	}
	if len(s.engine.calls.ByNumber) > 0 {
		t.Error("cancelled calls are remembered for ever")
	}
	s.nothing("cancelled calls")
}

func TestAServerThatHangsIsGivenUpOn(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i := range 3 {
		s.call("bob", fmt.Sprint("e", i), fmt.Sprint(i), "read_file", `{"path":"a"}`)
	}
	s.pass(time.Minute)
	if len(s.frames) != 3 || !strings.Contains(s.frames[0], `"code":-31010`) || !strings.Contains(s.frames[0], `"executed":"unknown"`) {
		t.Fatalf("no time-outs: %q", s.frames)
	}
	if len(s.restarts) != 1 {
		t.Errorf("%d restarts after three time-outs in a row, not one", len(s.restarts))
	}
	s.frames = nil
	s.said(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	s.nothing("a late result")
}

func TestAServerThatDiesLeavesTheOutcomeUnknownAndNothingIsTriedAgain(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.do(ServerDown{Cause: "exit status 1", Retry: time.Second})
	s.has(s.only(), `"code":-31008`, `"executed":"unknown"`, `"retryable":false`)
	s.call("bob", "e2", "2", "read_file", `{"path":"a"}`)
	s.has(s.only(), `"code":-31007`, `"executed":"no"`, `"retry_after_ms":1000`)
	s.startServer()
	if s.asked() != 1 {
		t.Error("a call was made again after the restart")
	}
	s.frames = nil
	s.call("bob", "e3", "3", "read_file", `{"path":"a"}`)
	if s.asked() != 2 {
		t.Error("no call gets through after the restart")
	}
}

// The first line that had not wholly left may have been read in part; those
// behind it cannot have been.
func TestOnlyLinesThatNeverLeftAreCalledNotExecuted(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i := range 4 {
		s.call("bob", fmt.Sprint("e", i), fmt.Sprint(i), "read_file", `{"path":"a"}`)
	}
	s.do(ServerDown{Cause: "it does not read", Unsent: 3})
	want := []string{"-31008", "-31008", "-31007", "-31007"}
	for i, code := range want {
		s.has(s.frames[i], `"code":`+code, fmt.Sprintf(`"id":%d`, i))
	}
}

func TestAnUnreadableAnswerIsNotWaitedFor(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.do(ServerNoise{Reason: "invalid_utf8", ID: []byte(s.lastID()), Count: 1})
	s.has(s.only(), `"code":-31008`, `"executed":"unknown"`, "invalid_utf8")
	s.do(ServerNoise{Reason: "invalid_utf8", ID: []byte(`"x"`), Count: 2})
	s.nothing("noise that answers nobody")
}

func TestACallThatCouldNotBeQueuedDidNotRun(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.do(NotWritten{Call: s.writes[len(s.writes)-1].Call, Err: fmt.Errorf("the queue is full")})
	s.has(s.only(), `"code":-31007`, `"executed":"no"`)
}

func TestTooManyCallsAreRefusedAtOnce(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i := range 4 {
		s.call("bob", fmt.Sprint("e", i), fmt.Sprint(i), "read_file", `{"path":"a"}`)
	}
	s.call("bob", "e5", "5", "read_file", `{"path":"a"}`)
	s.has(s.only(), `"code":-31005`, `"retryable":true`)
}

func TestProgressGoesToTheOwnerOfTheTokenAlone(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.do(Reloaded{rules(t, allowsSome+"server: {pass: [_meta.other]}\n")})
	s.frames, s.lines = nil, nil
	for i, from := range []string{"bob", "carol"} {
		s.arrive(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"p%d","ts":"2026-01-01T00:00:00Z","from":%q,"to":["fs"],"kind":"mcp/request:tools/call","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"p","other":1},"name":"read_file","arguments":{"path":"a"}}}}`, i, from))
	}
	first := s.parse(s.lines[0])
	token := string(first.Get(jsonrpc.ProgressToken))
	s.has(s.lines[0], `"other":1`)
	if token == `"p"` {
		t.Fatal("the caller's token reached the server")
	}
	s.said(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1,"x":[1]}}`)
	f := s.only()
	s.has(f, `"to":["bob"]`, `"params":{"progressToken":"p","progress":1,"x":[1]}`)
	if strings.Contains(f, "correlation_id") {
		t.Error("stock clients take a correlated progress frame for the answer (WIRE W-5)")
	}
	s.said(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":1}}`)
	s.nothing("progress for nobody")
}

func TestAnswersWaitForTheSeatAndOnlyForThoseStillThere(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	bob := s.lastID()
	s.call("dave", "e2", "2", "read_file", `{"path":"a"}`)
	dave := s.lastID()
	s.do(Unseated{fmt.Errorf("cut")})
	s.said(`{"jsonrpc":"2.0","id":` + bob + `,"result":{}}`)
	s.said(`{"jsonrpc":"2.0","id":` + dave + `,"result":{}}`)
	s.nothing("there is no seat")
	s.seat()
	s.has(s.only(), `"to":["bob"]`, `"correlation_id":"e1"`)
	s.pass(outgoing.HeldFor)
	if !s.noted(record.Dropped, "caller_gone") {
		t.Error("the answer to somebody who has left is not on record")
	}
	s.nothing("nobody is here for it")
	if len(s.engine.room.held.Answers) > 0 {
		t.Error("it is kept for ever")
	}
}

// After an outage of the gateway everybody joins again, some after us.
func TestAnAnswerWaitsForACallerWhoComesBackAfterUs(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	n := s.lastID()
	s.do(Unseated{fmt.Errorf("cut")})
	s.said(`{"jsonrpc":"2.0","id":` + n + `,"result":{}}`)
	s.seatWith()
	s.nothing("bob is not back")
	s.arrive(`{"protocol":"mcpx/v0.1","id":"j","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"join","participant":{"id":"bob","capabilities":[]}}}`)
	s.has(s.only(), `"to":["bob"]`, `"correlation_id":"e1"`)
}

func TestAnAnswerTheSeatRefusedIsNotLost(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
	s.frames = nil
	s.do(NotSent{s.sends[len(s.sends)-1], true})
	s.do(Unseated{})
	s.seat()
	s.has(s.only(), `"to":["bob"]`, `"correlation_id":"e1"`)
}

func TestARuleThatNamesAReadDecides(t *testing.T) {
	read := `{"protocol":"mcpx/v0.1","id":"r%d","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:resources/read","payload":{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a"}}}`
	s := newStage(t, "mcpx/v0.1")
	s.do(Reloaded{rules(t, allowsSome+" - {name: files, allow: ['*'], methods: [resources/read]}\n")})
	s.arrive(fmt.Sprintf(read, 1))
	s.has(s.lines[0], `"resources/read"`)
	s.do(Reloaded{rules(t, allowsSome+" - {name: no-files, deny: ['*'], methods: [resources/read]}\n")})
	s.arrive(fmt.Sprintf(read, 2))
	s.has(s.only(), `"code":-31004`, `no-files`)
	if len(s.lines) != 1 {
		t.Error("a read that a rule denies reached the server")
	}
}

func TestRulesKnowAPromptByItsName(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.do(Reloaded{rules(t, allowsSome+" - {name: prompts, allow: ['*'], methods: [prompts/get]}\n - {name: no-jokes, deny: ['joke*'], methods: [prompts/get]}\n")})
	for i, prompt := range []string{"joke_1", "story"} {
		s.arrive(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"p%d","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:prompts/get","payload":{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":%q}}}`, i, prompt))
	}
	s.has(s.only(), `"code":-31004`, "no-jokes")
	if len(s.lines) != 1 || !strings.Contains(s.lines[0], "story") {
		t.Errorf("the server got %q", s.lines)
	}
}

func TestListChangedIsToldWhenTheNewListIsKnown(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	s.nothing("the new list is not known yet")
	s.answerListing(`{"tools":[{"name":"read_more","inputSchema":{"type":"object"}}]}`)
	f := s.only()
	s.has(f, `"kind":"mcp/request:notifications/tools/list_changed"`)
	if strings.Contains(f, `"to"`) {
		t.Error("list_changed is addressed to somebody")
	}
	s.call("bob", "e1", "1", "read_more", `{}`)
	if s.asked() != 1 {
		t.Error("a new tool cannot be called")
	}
}

func TestAListWithPagesAndALookalikeName(t *testing.T) {
	tooLong := strings.Repeat("x", 129)
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 1, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.answerListing(`{"tools":[{"name":"read_a"}],"nextCursor":"c\"1"}`)
	if s.serving != 0 {
		t.Fatal("serving before the last page")
	}
	s.has(s.lines[len(s.lines)-1], `"cursor":"c\"1"`)
	s.answerListing(`{"tools":[{"name":"r\u0435ad_a"},{"name":"read_a"},{"name":"` + tooLong + `"}],"nextCursor":"2"}`)
	s.answerListing(`{"tools":[{"name":"` + tooLong[1:] + `"}]}`)
	if s.serving != 1 || !s.noted(record.Warning, "tool_name_charset") || !s.noted(record.Warning, "tool_name_twice") {
		t.Errorf("serving %d, notes %+v", s.serving, s.notes)
	}
	s.frames = nil
	s.arrive(`{"protocol":"mcpx/v0.1","id":"l1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:tools/list","payload":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{"tools":[{"name":"` + tooLong + `"},{"name":"read_a","x":1.0}, {"name":"r\u0435ad_a"},{"name":"` + tooLong[1:] + `"}]}}`)
	s.has(s.only(), `"result":{"tools":[{"name":"read_a","x":1.0},{"name":"`+tooLong[1:]+`"}]}`)
}

func TestAServerThatNeverListsItsToolsIsStartedAgain(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.do(ServerUp{Hello{PID: 1, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.pass(time.Minute)
	if len(s.restarts) != 1 || s.serving != 0 {
		t.Errorf("restarts %v, serving %d", s.restarts, s.serving)
	}
}

func TestAServerWithoutToolsServesTheRest(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.do(ServerUp{Hello{PID: 1, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"error":{"code":-32601,"message":"no tools"}}`)
	if s.serving != 1 {
		t.Error("it does not serve")
	}
}

func TestInitializeIsAnsweredFromWhatTheServerSaidOnce(t *testing.T) {
	s := newStage(t, "mcp-x/v0")
	s.arrive(`{"protocol":"mcp-x/v0","id":"i1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp","payload":{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}}`)
	s.has(s.only(), `"id":"a"`, `"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"},"extra":[1]}`)
	s.arrive(`{"protocol":"mcp-x/v0","id":"i2","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp","payload":{"jsonrpc":"2.0","id":"b","method":"initialize","params":{"protocolVersion":"1999-01-01"}}}`)
	s.has(s.only(), `"protocolVersion":"2025-06-18"`)
	s.arrive(`{"protocol":"mcp-x/v0","id":"i3","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/initialized"}}`)
	s.arrive(`{"protocol":"mcp-x/v0","id":"i4","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp","payload":{"jsonrpc":"2.0","id":5,"method":"ping"}}`)
	s.has(s.only(), `"result":{}`)
	if len(s.lines) != 0 {
		t.Errorf("the server was troubled: %q", s.lines)
	}
}

func TestAServerOf2026IsAskedInItsOwnWords(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	s.do(ServerUp{Hello{PID: 1, Revision: "2026-07-28", Modern: true, Meta: []byte(meta), Result: []byte(`{"supportedVersions":["2026-07-28"]}`),
		Capabilities: []byte(`{"tools":{}}`), ServerInfo: []byte(`{"name":"m","version":"2"}`)}})
	s.has(s.lines[0], meta)
	s.answerListing(tools)
	s.frames, s.lines = nil, nil
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.has(s.lines[0], `"_meta":{`+meta+`}`)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"i1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:initialize","payload":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}}`)
	s.has(s.only(), `"protocolVersion":"2025-06-18"`, `"capabilities":{"tools":{}}`, `"serverInfo":{"name":"m","version":"2"}`)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"i2","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:server/discover","payload":{"jsonrpc":"2.0","id":1,"method":"server/discover"}}`)
	s.has(s.only(), `"result":{"supportedVersions":["2026-07-28"]}`)
}

func TestWhatTheServerAsksIsRefusedAndReachesNobody(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.said(`{"jsonrpc":"2.0","id":"srv-1","method":"elicitation/create","params":{"message":"your token?"}}`)
	s.has(s.lines[0], `"id":"srv-1"`, `"code":-32601`)
	s.said(`{"jsonrpc":"2.0","id":0,"method":"ping"}`)
	s.has(s.lines[1], `"id":0`, `"result":{}`)
	s.said(`{"jsonrpc":"2.0","id":"elic-1","result":{"action":"accept","content":{"approve":true}}}`)
	s.said(`{"jsonrpc":"2.0","id":99999,"result":{}}`)
	s.nothing("the server speaks to nobody by itself")
}

func TestMethodsOfClientsAreNotServed(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list"} {
		s.arrive(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"w%d","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:%s","payload":{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}}`, i, method, method))
		s.has(s.only(), `"code":-32601`)
	}
	s.arrive(`{"protocol":"mcpx/v0.1","id":"x","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:logging/setLevel","payload":{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}}`)
	s.has(s.only(), `"code":-31004`)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"y","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:tools/call","payload":{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}}`)
	s.has(s.only(), `"code":-32600`)
	if len(s.lines) > 0 {
		t.Errorf("the server was asked: %q", s.lines)
	}
}

func TestSubscribersAloneHearOfAResource(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.allowMethods()
	for i, from := range []string{"carol", "bob"} {
		s.arrive(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"s%d","ts":"2026-01-01T00:00:00Z","from":%q,"to":["fs"],"kind":"mcp/request:resources/subscribe:file:///a","payload":{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}}`, i, from))
		s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
	}
	s.frames = nil
	update := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`
	s.said(update)
	if len(s.frames) != 2 || !strings.Contains(s.frames[0], `"to":["bob"]`) || !strings.Contains(s.frames[1], `"to":["carol"]`) {
		t.Fatalf("%q", s.frames)
	}
	s.frames, s.lines = nil, nil
	s.arrive(`{"protocol":"mcpx/v0.1","id":"l","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"leave","participant":{"id":"carol","capabilities":[]}}}`)
	s.pass(leaveGrace)
	s.said(update)
	s.has(s.only(), `"to":["bob"]`)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"l2","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"leave","participant":{"id":"bob","capabilities":[]}}}`)
	s.pass(leaveGrace)
	s.has(s.lines[len(s.lines)-1], `"resources/unsubscribe"`, `file:///a`)
}

func TestALeaveIsNotBelievedOfSomebodyWhoSpeaks(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.arrive(`{"protocol":"mcpx/v0.1","id":"l","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"leave","participant":{"id":"bob","capabilities":[]}}}`)
	s.pass(leaveGrace - time.Second)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"c","ts":"2026-01-01T00:00:00Z","from":"bob","kind":"chat","payload":{"text":"still here"}}`)
	s.pass(leaveGrace)
	if s.engine.room.peers["bob"] == nil {
		t.Error("bob was taken for gone")
	}
}

func TestStoppingRefusesTheNewAndFinishesTheOld(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	n := s.lastID()
	s.do(Stopping{})
	s.call("bob", "e2", "2", "read_file", `{"path":"a"}`)
	s.has(s.only(), `"code":-31006`)
	if s.idle != 0 {
		t.Fatal("idle while a call is at the server")
	}
	s.said(`{"jsonrpc":"2.0","id":` + n + `,"result":{}}`)
	s.has(s.only(), `"id":1`, `"result":{}`)
	if s.idle == 0 {
		t.Error("not idle after the last call")
	}
}

func TestGivingUpAnswersWhatIsLeft(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.do(Stopping{})
	s.pass(10 * time.Second)
	s.do(GivingUp{})
	s.has(s.only(), `"code":-31010`, `"executed":"unknown"`)
	if s.idle == 0 {
		t.Error("not idle")
	}
}

func TestPauseHoldsAnswersAndEndsByItself(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	s.arrive(`{"protocol":"mew/v0.4","id":"p","ts":"2026-01-01T00:00:00Z","from":"carol","to":["fs"],"kind":"participant/pause","payload":{"timeout_seconds":5}}`)
	s.arrive(`{"protocol":"mew/v0.4","id":"c1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request","payload":{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
	s.pass(4 * time.Second)
	s.nothing("paused")
	s.pass(time.Second)
	f := s.only()
	s.has(f, `"correlation_id":["c1"]`, `"payload":{"jsonrpc":"2.0","result":{}}`)
	s.arrive(`{"protocol":"mew/v0.4","id":"sd","ts":"2026-01-01T00:00:00Z","from":"mallory","to":["fs"],"kind":"participant/shutdown","payload":{}}`)
	s.nothing("a stranger's shutdown")
	s.arrive(`{"protocol":"mew/v0.4","id":"c2","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request","payload":{"method":"ping"}}`)
	s.has(s.only(), `"correlation_id":["c2"]`)
}

func TestAPauseNeedsNoPayload(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	s.arrive(`{"protocol":"mew/v0.4","id":"p","ts":"2026-01-01T00:00:00Z","from":"carol","to":["fs"],"kind":"participant/pause"}`)
	s.arrive(`{"protocol":"mew/v0.4","id":"c1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request","payload":{"method":"ping"}}`)
	s.nothing("paused")
	s.arrive(`{"protocol":"mew/v0.4","id":"r","ts":"2026-01-01T00:00:00Z","from":"carol","to":["fs"],"kind":"participant/resume","payload":{}}`)
	s.has(s.only(), `"correlation_id":["c1"]`)
}

func TestAGrantIsAcknowledged(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	s.arrive(`{"protocol":"mew/v0.4","id":"g1","ts":"2026-01-01T00:00:00Z","from":"carol","to":["fs"],"kind":"capability/grant","payload":{"recipient":"fs","capabilities":[{"kind":"mcp/reject"}]}}`)
	s.has(s.only(), `"kind":"capability/grant-ack"`, `"correlation_id":["g1"]`, `"status":"accepted"`)
	if !strings.Contains(string(s.engine.room.caps.Raw()), `mcp/reject`) {
		t.Error("the grant is forgotten")
	}
}

func TestAnAnswerTooLargeForATopicIsSaidToBe(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":"` + strings.Repeat("a", 16<<20-60) + `"}`)
	s.has(s.only(), `"code":-31013`, `"executed":"yes"`)
}

// The same events give the same effects, whatever the order of maps.
func TestTheSameEventsGiveTheSameEffects(t *testing.T) {
	play := func() string {
		s := newStage(t, "mcpx/v0.1")
		for i, from := range []string{"bob", "carol", "mallory", "bob"} {
			s.call(from, fmt.Sprint("e", i), fmt.Sprint(i), "read_file", `{"path":"a"}`)
		}
		s.do(Unseated{})
		s.do(ServerDown{Cause: "gone", Retry: time.Second})
		s.seat()
		s.startServer()
		s.pass(time.Hour)
		return strings.Join(s.frames, "\n") + strings.Join(s.lines, "\n") + fmt.Sprint(s.notes)
	}
	first := play()
	for range 50 {
		if play() != first {
			t.Fatal("two runs of the same events differ")
		}
	}
}

// A proposal is no request, and is not answered like one (seen in a simulated world
// with small shares).
func TestAProposalBeyondTheShareIsNotAnsweredAsARequest(t *testing.T) {
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, allowsSome), Share: 1})
	s.seatWith("bob")
	s.startServer()
	s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
	s.frames = nil
	s.arrive(`{"protocol":"mcpx/v0.1","id":"p1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/proposal:tools/call","payload":{"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}}`)
	if len(s.frames) != 0 || s.asked() != 1 || !s.noted(record.Dropped, "share_full") {
		t.Errorf("%d frames, %d calls, %+v", len(s.frames), s.asked(), s.notes)
	}
}
