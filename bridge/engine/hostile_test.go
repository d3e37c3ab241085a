package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/outgoing"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A number that no exact fraction can be made of crashed the validator, and
// with it the bridge; any participant could send it. A large one only took
// seconds, which everybody else waited.
func TestNumbersTooLargeToBeCheckedAreRefused(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i, mode := range []string{"1e9999999", "-1E+99999999999999999999", "1e999999", "1e-401", strings.Repeat("9", 2000)} {
		s.call("bob", fmt.Sprint("e", i), "1", "write_file", `{"path":"a","mode":`+mode+`}`)
		s.has(s.only(), `"code":-32602`, `at '/mode': a number too large to be checked`, `"executed":"no"`)
	}
	s.call("bob", "f", "1", "read_file", `{"path":"a","nobody":1e9999999}`)
	if s.asked() != 1 {
		t.Error("a number that no schema looks at is passed on as it is")
	}
}

// The same in a schema: it checks nothing then, as any schema that is none.
func TestNumbersTooLargeInASchema(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 7}})
	s.answerListing(`{"tools":[{"name":"read_x","inputSchema":{"properties":{"n":{"multipleOf":1e9999999}}}}]}`)
	s.call("bob", "e", "1", "read_x", `{"n":5}`)
	if s.asked() != 1 {
		t.Error("the call did not reach the server")
	}
}

// A schema of hundreds of levels took seconds to compile, under the lock.
func TestASchemaOfHundredsOfLevelsIsNotUsed(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 7}})
	deep := strings.Repeat(`{"properties":{"a":`, 400) + `{"type":"string"}` + strings.Repeat("}}", 400)
	s.answerListing(`{"tools":[{"name":"read_x","inputSchema":` + deep + `}]}`)
	check, err := catalog.CompileSchema([]byte(deep))
	if err == nil || check([]byte(`{"a":1}`)) != nil {
		t.Errorf("it is used: %v", err)
	}
	s.call("bob", "e", "1", "read_x", `{"a":5}`)
	if s.asked() != 1 {
		t.Error("the call did not reach the server")
	}
}

// The validator is not ours. Whatever it does, a call is refused and the
// bridge lives.
func TestAValidatorThatFallsOverRefuses(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.engine.server.tools.Tools["read_file"].Check = func([]byte) error { panic("index out of range") }
	s.call("bob", "e", "1", "read_file", `{"path":"a"}`)
	s.has(s.only(), `"code":-32602`, `"executed":"no"`)
}

// What does not fit is named in one order, though the validator goes through
// maps: the same events must give the same effects.
func TestTheFirstOfManyFaultsIsNamed(t *testing.T) {
	for range 50 {
		s := newStage(t, "mcpx/v0.1")
		s.call("bob", "e1", "1", "write_file", `{"mode":"x","path":5}`)
		s.has(s.only(), `at '/mode'`)
		s.call("bob", "e2", "1", "write_file", `{"path":"a","z":1,"y":1,"x":1,"w":1}`)
		s.has(s.only(), `'w', 'x', 'y', 'z'`)
	}
}

// A refusal does not repeat all that was wrong: quoted it could be too large
// for any frame, and the caller would hear nothing.
func TestARefusalIsShortWhateverTheRequest(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	long := strings.Repeat("\u200b", 1<<20)
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, `,"%d":0`, i)
	}
	s.call("bob", "e1", "1", long, `{}`)
	s.call("bob", "e2", "2", "write_file", `{"path":"a","`+long+`":1}`)
	s.call("bob", "e3", "3", "write_file", `{"path":"a"`+many.String()+`}`)
	s.call("bob", "e2", "2", long, `{}`)
	for i, f := range s.frames {
		if len(f) > 4096 {
			t.Errorf("refusal %d has %d bytes", i, len(f))
		}
	}
	for _, n := range s.notes {
		if text := n.JSON(); len(text) > 4096 {
			t.Errorf("record %.60s has %d bytes", text, len(text))
		}
	}
}

// What is remembered of a request that the server takes its time for is small,
// however large its frame.
func TestWhatIsRememberedOfARequestIsBounded(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.allowMethods()
	ask := func(env, method, params string) {
		t.Helper()
		s.arrive(`{"protocol":"mcpx/v0.1","id":"` + env + `","ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:` + method +
			`","payload":{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}}`)
	}
	long := strings.Repeat("a", 1<<20)
	ask("e1", "resources/read", `{"uri":"`+long+`"}`)
	for _, c := range s.engine.calls.ByNumber {
		if len(c.Key) > keyMax {
			t.Errorf("%d bytes of the uri are kept", len(c.Key))
		}
	}
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
	s.has(s.only(), `"kind":"mcp/response:resources/read"`)
	ask("e2", "resources/subscribe", `{"uri":"`+long+`"}`)
	s.has(s.only(), `"code":-32602`, "uri")
	ask("e3", "tools/list", `{"_meta":{"progressToken":"`+long+`"}}`)
	s.has(s.only(), `"code":-32602`, "progress token")
}

// An answer that just fits, to a request whose kind is all escapes, still
// fits: what does not is never heard of.
func TestTheLargestAnswerFitsWithTheLargestKind(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.allowMethods()
	uri := strings.Repeat(`\u0001`, 4000)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"` + strings.Repeat(`\\`, 256) + `","ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:resources/read","payload":` +
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `"}}}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":"` + strings.Repeat("a", jsonrpc.MaxSize-6000) + `"}`)
	if f := s.only(); len(f) > jsonrpc.MaxSize {
		t.Errorf("the frame has %d bytes", len(f))
	}
}

// A listing of ours that could not be queued was waited for until the server
// died: its tools never changed again.
func TestAListingThatCouldNotBeQueuedIsMadeLater(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	s.do(NotWritten{Call: s.writes[len(s.writes)-1].Call, Err: errors.New("full")})
	s.lines = nil
	s.pass(time.Minute)
	s.answerListing(`{"tools":[{"name":"read_new"}]}`)
	s.call("bob", "e1", "1", "read_new", `{}`)
	if s.asked() != 1 {
		t.Errorf("the new tool is not known: %q", s.frames)
	}
}

// The same while the server is down: nothing is asked of it then.
func TestAListingIsNotTriedAgainWithoutAServer(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	s.do(NotWritten{Call: s.writes[len(s.writes)-1].Call, Err: errors.New("full")})
	s.do(ServerDown{Cause: "gone", Retry: time.Hour})
	s.lines = nil
	s.pass(time.Hour)
	if len(s.lines) > 0 {
		t.Errorf("written to no server: %q", s.lines)
	}
}

const mewHead = `{"protocol":"mew/v0.4","ts":"2026-01-01T00:00:00Z","to":["fs"],`

// Where nothing is stated we may say anything. A grant, which anybody can
// send, must not turn that into the little that it names.
func TestAGrantNeverNarrows(t *testing.T) {
	s := emptyStage(t, "mew/v0.4")
	s.do(Seated{s.dialect, wire.Welcome{You: wire.Participant{ID: "fs"}}})
	s.startServer()
	s.arrive(mewHead + `"id":"g1","from":"mallory","kind":"capability/grant","payload":{"recipient":"fs","capabilities":[{"kind":"chat"}]}}`)
	s.frames = nil
	s.arrive(mewHead + `"id":"c1","from":"bob","kind":"mcp/request","payload":{"method":"ping"}}`)
	s.has(s.only(), `"correlation_id":["c1"]`)
}

func TestGrantsDoNotPileUp(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	for i := range 50 {
		s.arrive(fmt.Sprintf(mewHead+`"id":"g%d","from":"mallory","kind":"capability/grant","payload":{"recipient":"fs","capabilities":[{"kind":"%s"}]}}`, i, strings.Repeat("x", 4000)))
	}
	if n := len(s.engine.room.caps.Raw()); n > grantsMax || !s.noted(record.Dropped, "grant_too_large") {
		t.Errorf("%d bytes of grants are kept", n)
	}
}

// An answer that was ready at the beginning of a long pause, to somebody no
// roster lists, is said at its end.
func TestAPauseLosesNoAnswer(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	s.arrive(mewHead + `"id":"p","from":"carol","kind":"participant/pause","payload":{"timeout_seconds":200}}`)
	s.arrive(mewHead + `"id":"c1","from":"stranger","kind":"mcp/request","payload":{"method":"ping"}}`)
	s.pass(199 * time.Second)
	s.nothing("paused")
	s.pass(time.Second)
	s.has(s.only(), `"correlation_id":["c1"]`)
}

// Nobody silences us for longer than pauseMax by asking again and again.
func TestAPauseIsNotDrawnOut(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	s.arrive(mewHead + `"id":"c0","from":"bob","kind":"mcp/request","payload":{"method":"ping"}}`)
	s.frames = nil
	for i := range 10 {
		s.arrive(fmt.Sprintf(mewHead+`"id":"p%d","from":"mallory","kind":"participant/pause","payload":{"timeout_seconds":60}}`, i))
		if i == 0 {
			s.arrive(mewHead + `"id":"c1","from":"bob","kind":"mcp/request","payload":{"method":"ping"}}`)
		}
		s.pass(30 * time.Second)
	}
	s.has(strings.Join(s.frames, ""), `"correlation_id":["c1"]`)
}

// A tool that is withheld is cut out where it stands, not where the same bytes
// stand first.
func TestWithheldToolsAreCutWhereTheyStand(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 1, Revision: "2025-06-18", Result: []byte(`{}`)}})
	list := `{"tools":[{"name":"read_a","_meta":{"see":{"name":"b d"}}},{"name":"b d"}],"x":{"name":"b d"}}`
	s.answerListing(list)
	s.frames = nil
	s.arrive(`{"protocol":"mcpx/v0.1","id":"l1","ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:tools/list","payload":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":` + list + `}`)
	s.has(s.only(), `"result":{"tools":[{"name":"read_a","_meta":{"see":{"name":"b d"}}}],"x":{"name":"b d"}}`)
}

// What a server of 2026-07-28 must be told is added to what the caller says
// itself, never beside it: of two members each reader chooses for itself.
func TestWhatTheCallerSaysOfItselfStandsOnce(t *testing.T) {
	s := emptyStage(t, "mcpx/v0.1")
	s.seat()
	s.do(ServerUp{Hello{PID: 1, Revision: "2026-07-28", Modern: true, Result: []byte(`{}`),
		Meta: []byte(`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"b"}`)}})
	s.answerListing(tools)
	s.do(Reloaded{rules(t, allowsSome+"server: {pass: [_meta.a, _meta.b]}\n")})
	for i, meta := range []string{
		`{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}`,
		`{"io.modelcontextprotocol/clientInfo":{"name":"c"}}`,
		`{"a":"\"io.modelcontextprotocol/protocolVersion\"","b":{"io.modelcontextprotocol/protocolVersion":1}}`,
	} {
		s.lines = nil
		s.arrive(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"e%d","ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:tools/list","payload":{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":%s}}}`, i, meta))
		m, err := jsonrpc.Parse([]byte(s.lines[0]), jsonrpc.Judged)
		if err != nil {
			t.Fatalf("%s: %v", s.lines[0], err)
		}
		var said map[string]any
		if err := json.Unmarshal(m.Get(jsonrpc.Meta), &said); err != nil || said["io.modelcontextprotocol/protocolVersion"] == nil || said["io.modelcontextprotocol/clientInfo"] == nil {
			t.Errorf("%s says of itself %s", meta, m.Get(jsonrpc.Meta))
		}
	}
}

// What is remembered of a request is its name, not the head of its frame: that
// has room for 256 links of 256 bytes.
func TestARequestIsRememberedByItsNameAlone(t *testing.T) {
	const requests, links = 500, 250
	s := newStage(t, "mew/v0.4")
	corr := strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("x", 250)+`",`, links), ",")
	before := inUse()
	for i := range requests {
		s.arrive(fmt.Sprintf(mewHead+`"id":"c%d","from":"mallory","kind":"mcp/request","correlation_id":[%s],"payload":{"method":"ping"}}`, i, corr))
		s.frames, s.sends, s.notes = nil, nil, nil
	}
	if grown := inUse() - before; grown > 8<<20 {
		t.Errorf("%d requests are remembered in %d KiB", requests, grown>>10)
	}
	if s.engine.now.IsZero() {
		t.Error("nothing happened")
	}
}

func inUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A call without arguments that somebody agrees to runs as it came, though its
// tool has a schema.
func TestACallWithoutArgumentsCanBeAgreedTo(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	s.answerListing(`{"tools":[{"name":"write_all","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}`)
	s.frames, s.lines = nil, nil
	s.says("bob", "e1", wire.Request, "tools/call", "write_all", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_all"}}`)
	s.answers("alice", s.question(), true, yes)
	if s.asked() != 1 || strings.Contains(s.lines[0], "arguments") {
		t.Errorf("the server got %q, the room %q", s.lines, s.frames)
	}
}

// A server's progress of a million digits is passed on, not worked out.
func TestProgressTooLargeToCountOnIsPassedOn(t *testing.T) {
	for _, p := range []string{"1e1000000", "1e-1000000", "1e9999999", strings.Repeat("9", 5000)} {
		if got := string(further([]byte(p), 3)); got != p {
			t.Errorf("%.20s became %.20s, %d bytes", p, got, len(got))
		}
	}
}

// What is said while people decide counts for less than any step: the second of three read 5/3.
func TestTheServersProgressStaysItsOwn(t *testing.T) {
	for p, want := range map[string]string{"1": "1", "2.5": "2.5", "0.000000004": "0.000000004", "0": "0.000000004", "0.0": "0.000000004"} {
		if got := string(further([]byte(p), 3)); got != want {
			t.Errorf("%s became %s, want %s", p, got, want)
		}
	}
}

// A way out that is full for a moment costs nobody the answer.
func TestAnAnswerIsSentAgainWhenTheWayOutWasFull(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "nope", `{}`)
	s.only()
	s.do(NotSent{Send: s.sends[len(s.sends)-1]})
	s.nothing("it is full still")
	s.pass(time.Second)
	s.has(s.only(), `"correlation_id":"e1"`, `"id":1`)
	s.do(NotSent{Send: Send{Class: wire.Reply, Envelope: s.sends[len(s.sends)-1].Envelope, Frame: make([]byte, jsonrpc.MaxSize+1)}})
	s.pass(time.Second)
	s.nothing("no frame can hold it")
}

// Not every gateway lists everybody who is here.
func TestAnAnswerToSomebodyNotListedIsSentAgainToo(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("stranger", "e1", "1", "nope", `{}`)
	s.only()
	s.do(NotSent{Send: s.sends[len(s.sends)-1]})
	s.pass(time.Second)
	s.has(s.only(), `"to":["stranger"]`, `"correlation_id":"e1"`)
}

// A machine that sleeps while the way out is full keeps the answer: there is a seat.
func TestAnAnswerOutlastsASleepWhileTheWayOutIsFull(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", "1", "nope", `{}`)
	s.only()
	s.do(NotSent{Send: s.sends[len(s.sends)-1]})
	s.now = s.now.Add(2 * outgoing.HeldFor)
	s.do(Tick{})
	s.has(s.only(), `"correlation_id":"e1"`, `"id":1`)
}

// Without a seat an answer has one minute, whatever rings meanwhile.
func TestAnAnswerHasOneMinuteWithoutASeat(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("carol", "e0", "1", "nope", `{}`)
	s.do(Unseated{})
	s.do(NotSent{Send: s.sends[len(s.sends)-1], Gone: true})
	s.seatWith("bob") // carol's answer is looked at when its minute is over
	s.pass(outgoing.HeldFor / 2)
	s.frames = nil
	s.call("bob", "e1", "1", "nope", `{}`)
	s.only()
	s.do(NotSent{Send: s.sends[len(s.sends)-1]})
	s.do(Unseated{})
	s.pass(outgoing.HeldFor)
	s.seat()
	s.nothing("both waited for too long")
}

// 4 000 refused calls of 8 KiB were 35 MB of record in 1.6 s, and a full disk stops
// everybody's calls (FINDINGS M7).
func TestRefusedCallsDoNotFillTheRecord(t *testing.T) {
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, "version: 1\ndefault: deny\nrules:\n - {name: some, allow: ['read_*']}\n - {name: asks, ask: ['write_*']}\nasks: {default: {of: [alice]}}\n")})
	s.seatWith("bob", "mallory")
	s.startServer()
	s.notes = nil
	long := strings.Repeat("x", 8000)
	for i := range 1000 {
		s.call("mallory", fmt.Sprint("d", i), "1", "delete_file", `{"path":"`+long+`"}`)
		s.call("mallory", fmt.Sprint("w", i), "1", "write_file", `{"path":"`+long+`"}`) // nobody is there to be asked
		s.call("mallory", "d0", "1", "delete_file", `{"path":"other"}`)
	}
	s.call("bob", "b", "1", "delete_file", `{"path":"a"}`)
	bytes, bobs := 0, 0
	for _, r := range s.notes {
		bytes += len(r.JSON())
		if r.From == "bob" {
			bobs++
		}
	}
	if bytes > 500_000 {
		t.Errorf("%d bytes are on record", bytes)
	}
	if bobs != 2 {
		t.Errorf("bob's refusal has %d records", bobs)
	}
	s.notes = nil
	s.pass(time.Minute)
	sum := 0
	for _, r := range s.notes {
		if r.Event == record.Dropped && r.Reason == "summed_up" && r.From == "mallory" {
			sum += r.Count
		}
	}
	if sum < 2500 || sum > 2900 {
		t.Errorf("%d refusals are summed up", sum)
	}
	s.call("mallory", "after", "1", "read_file", `{"path":"a"}`)
	if s.asked() != 1 {
		t.Error("what is allowed does not run")
	}
}
