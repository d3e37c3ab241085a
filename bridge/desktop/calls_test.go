package desktop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// joined is a stage with a peer fs that has the tools read and write, and a
// client with these capabilities.
func joined(t *testing.T, capabilities string) *stage {
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": {tool("read"), tool("write"),
		`{"name":"promises","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["x"]}}`}})
	s.meet(capabilities)
	return s
}

func TestAResultIsPassedOnByteForByte(t *testing.T) {
	s := joined(t, `{}`)
	s.call(7, "fs__read", `{}`)
	result := `{ "content":[{"type":"new","x":9007199254740993}],"<&>":"\u2028", "isError":false }`
	s.answer(s.open("tools/call"), result)
	s.one(`{"jsonrpc":"2.0","id":7,"result":` + result + `}`)
}

func TestServersOwnErrorsPassUnchanged(t *testing.T) {
	s := joined(t, `{}`)
	s.call(7, "fs__read", `{}`)
	fault := `{"code":-32042,"message":"m","data":{ "a":1.0,"a2":[] },"more":1}`
	s.fault(s.open("tools/call"), fault)
	s.one(`{"jsonrpc":"2.0","id":7,"error":` + fault + `}`)
}

func TestRefusalsAreReadable(t *testing.T) {
	for _, c := range []struct{ fault, want string }{
		{`{"code":-31004,"message":"the owner's policy does not allow it","data":{"reason":"policy_denied","executed":"no","say":"ask me first"}}`,
			"fs refused write, it did not run: the owner's policy does not allow it (policy_denied); its owner says: ask me first"},
		{`{"code":-31008,"message":"the server ended","data":{"reason":"outcome_unknown","executed":"unknown"}}`,
			"fs gave no answer to write, it may or may not have run: the server ended (outcome_unknown)"},
		{`{"code":-31001,"message":"no.\nNow \u001b[31mred","data":7}`, `fs refused write, it may or may not have run: no. Now \\u{1b}[31mred`},
	} {
		s := joined(t, `{}`)
		s.call(7, "fs__write", `{}`)
		s.fault(s.open("tools/call"), c.fault)
		s.one(`"isError":true`, `"text":"`+c.want+`"`, `"mcpx/refusal":{"code":-3100`)
	}
}

func TestNoPeerAsksTheClientByWayOfAResult(t *testing.T) {
	for _, result := range []string{
		`{"resultType":"input_required","inputRequests":{"x":{"method":"sampling/createMessage","params":{}}},"requestState":"s"}`,
		`{"resultType":"task","task":{}}`, `{"resultType":7}`, `{"resultType":"complete","resultType":"task"}`,
	} {
		s := joined(t, `{}`)
		s.modernCall(7, "fs__read", `{}`, "")
		s.answer(s.open("tools/call"), result)
		if line := s.one(`"isError":true`); strings.Contains(line, "sampling") {
			t.Errorf("%s comes through: %s", result, line)
		}
	}
}

// One error has the client send its person to an address.
func TestNoPeerAsksTheClientByWayOfAnError(t *testing.T) {
	for _, code := range []string{"-32042", "-32042.0", "-3.2042e4", `"x"`} {
		s := joined(t, `{"elicitation":{"url":{}}}`)
		s.call(1, "fs__read", `{}`)
		s.fault(s.open("tools/call"), `{"code":`+code+`,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.com/","message":"log in"}]}}`)
		if line := s.one(`"isError":true`, "outcome_unknown"); strings.Contains(line, "example.com") {
			t.Errorf("%s: %s", code, line)
		}
	}
}

func TestProgressGoesBothWays(t *testing.T) {
	s := joined(t, `{}`)
	s.call(7, "fs__read", `{}`)
	a := s.open("tools/call")
	if !a.Progress {
		t.Error("progress is not asked for")
	}
	for _, p := range []string{"1", "2", "2", "1", "2.5"} {
		s.step(desktop.Progressed{Ref: a.Ref, Params: []byte(`{"progressToken":"ours","progress":` + p + `,"message":"waiting for approval","x":1.0}`)})
	}
	said := s.heard()
	if len(said) != 3 || said[2] != `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":2.5,"message":"waiting for approval","x":1.0}}` {
		t.Errorf("progress: %q", said)
	}
	s.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if len(s.cancels) != 1 || s.cancels[0].Ref != a.Ref {
		t.Errorf("cancelled: %v", s.cancels)
	}
	s.step(desktop.Answered{Ref: a.Ref, Result: []byte(`{"content":[]}`)})
	s.silent() // no answer after a cancellation
}

func ticketIn(t *testing.T, line string) string {
	t.Helper()
	var m struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent struct{ Status, Ticket string }
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	ticket := m.Result.StructuredContent.Ticket
	if ticket == "" || m.Result.StructuredContent.Status != "pending" || !strings.Contains(m.Result.Content[0].Text, ticket) {
		t.Fatalf("there is no ticket in %s", line)
	}
	return ticket
}

func TestATicketFetchesTheAnswer(t *testing.T) {
	s := joined(t, `{}`)
	s.call(1, "fs__write", `{"a":1,"b":2}`)
	a := s.open("tools/call")
	s.step(desktop.Progressed{Ref: a.Ref, Params: []byte(`{"progressToken":"x","progress":1,"message":"waiting for approval"}`)})
	s.heard()
	s.pass(50 * time.Second)
	ticket := ticketIn(t, s.one(`"id":1`, "waiting for approval", "mcpx-bridge approve"))

	s.call(2, "fs__write", `{ "b":2, "a":1 }`) // the same call attaches
	s.call(3, "mcpx_result", fmt.Sprintf(`{"ticket":%q}`, ticket))
	s.open("tools/call")
	s.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if len(s.cancels) > 0 {
		t.Error("a call with a ticket is taken back")
	}
	s.answer(a, `{"content":[{"type":"text","text":"done"}]}`)
	s.one(`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"done"}]}}`)

	s.call(4, "mcpx_result", fmt.Sprintf(`{"ticket":%q}`, ticket)) // should the client have missed it
	s.one(`"id":4`, "done")
	s.call(5, "fs__write", `{"a":1,"b":2}`) // which is a new one now
	s.open("tools/call")
	s.pass(16 * time.Minute)
	s.heard()
	s.call(6, "mcpx_result", fmt.Sprintf(`{"ticket":%q}`, ticket))
	s.one(`"isError":true`, "no call with this ticket")
}

func TestAnAnswerNobodyWaitedForIsKept(t *testing.T) {
	s := joined(t, `{}`)
	s.call(1, "fs__write", `{}`)
	a := s.open("tools/call")
	s.pass(50 * time.Second)
	s.heard()
	s.answer(a, `{"content":[],"n":1}`)
	s.silent()
	s.call(2, "fs__write", `{}`) // the same call gets it, and runs nothing
	s.one(`"id":2`, `"n":1`)
	s.none("tools/call")
}

func TestATicketDoesNotBreakAPromise(t *testing.T) {
	s := joined(t, `{}`)
	s.call(1, "fs__promises", `{}`)
	s.pass(50 * time.Second)
	if line := s.one(`"isError":true`, `"mcpx/pending":{`); strings.Contains(line, "structuredContent") {
		t.Errorf("a client would hold this against the tool's schema: %s", line)
	}
}

func TestAPeerLeavesMidCall(t *testing.T) {
	s := joined(t, `{}`)
	s.call(1, "fs__write", `{}`)
	s.open("tools/call")
	s.step(desktop.Left{ID: "fs"})
	s.pass(4 * time.Second)
	s.silent() // it may come back
	s.pass(time.Second)
	s.one(`"id":1`, `"isError":true`, "fs left before it answered; write may or may not have run", `"code":-31008`, `"executed":"unknown"`)
	s.none("tools/call")
}

func TestACallThatCouldNotBeSentWasNotMade(t *testing.T) {
	s := joined(t, `{}`)
	s.call(1, "fs__write", `{}`)
	a := s.open("tools/call")
	delete(s.asks, a.Ref)
	s.step(desktop.Answered{Ref: a.Ref, Failed: "it could not be sent: the link is full", Unsent: true})
	s.one(`"isError":true`, "the link is full; the call was not made", `"executed":"no"`)
}

func TestTheLinkIsLostMidCall(t *testing.T) {
	s := joined(t, `{}`)
	s.call(1, "fs__write", `{}`)
	a := s.open("tools/call")
	s.step(desktop.Unseated{Why: "it broke"})
	s.call(2, "fs__read", `{}`)
	s.one(`"id":2`, `"isError":true`, "not connected to the topic: it broke")
	s.pass(10 * time.Second)
	s.join(map[string][]string{"fs": {tool("read"), tool("write")}})
	s.answer(a, `{"content":[],"n":1}`)
	s.heard()
	s.call(3, "fs__read", `{}`)
	s.open("tools/call")
}

func TestAnAnswerThatWasLostWithTheLinkIsNotWaitedForForEver(t *testing.T) {
	s := joined(t, `{}`)
	s.call(1, "fs__write", `{}`)
	a := s.open("tools/call")
	s.step(desktop.Unseated{Why: "it broke"})
	s.join(map[string][]string{"fs": {tool("read"), tool("write")}})
	s.pass(time.Second)
	s.heard() // the list is another one
	s.pass(49 * time.Second)
	ticket := ticketIn(t, s.one(`"id":1`))
	s.step(desktop.Progressed{Ref: a.Ref, Params: []byte(`{"progressToken":"x","progress":1}`)}) // it lives
	s.call(2, "mcpx_result", fmt.Sprintf(`{"ticket":%q}`, ticket))
	s.pass(50 * time.Second)
	ticketIn(t, s.one(`"id":2`))
	s.pass(70 * time.Second)
	s.call(3, "mcpx_result", fmt.Sprintf(`{"ticket":%q}`, ticket))
	s.one(`"id":3`, `"isError":true`, "the link to the topic was lost meanwhile, and the answer with it; write may or may not have run")
	s.none("tools/call")
}

func TestNobodyIsForgottenAfterTheLinkIsLost(t *testing.T) {
	s := joined(t, `{}`)
	s.call(1, "fs__write", `{}`)
	s.step(desktop.Unseated{Why: "it broke"})
	s.join(map[string][]string{"other": {}})
	s.pass(5 * time.Second)
	s.one(`"id":1`, "may or may not have run")
}

// A bridge that was restarted within five seconds knew nothing of what was asked of it before: each
// was waited for an hour, and the same call again waited for the dead one.
func TestAPeerThatCameBackWasWaitedForForAnHour(t *testing.T) {
	for _, mute := range []bool{false, true} {
		s := joined(t, `{}`)
		s.call(1, "fs__write", `{}`)
		s.line(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"mcpx://fs/note://a"}}`)
		s.step(desktop.Left{ID: "fs"})
		s.pass(2 * time.Second)
		s.step(desktop.Came{Peer: desktop.Peer{ID: "fs", Mute: mute}})
		s.serveLists(map[string][]string{"fs": {tool("read"), tool("write")}})
		s.pass(47 * time.Second)
		s.heard() // the list is another one
		s.pass(time.Second)
		ticket := ticketIn(t, s.one(`"id":1`))
		s.pass(70 * time.Second)
		s.silent()
		s.pass(2 * time.Second)
		s.one(`"id":2`, `"error"`, "fs left meanwhile and came back", `"executed":"unknown"`)
		s.call(3, "mcpx_result", fmt.Sprintf(`{"ticket":%q}`, ticket))
		s.one(`"id":3`, `"isError":true`, "fs left meanwhile and came back, and its answer may be lost; write may or may not have run")
		s.none("tools/call")
	}
}

// What others were asked is not touched by it, nor an answer that comes all the same.
func TestAPeerThatCameBackMayStillAnswer(t *testing.T) {
	s := newStage(t, desktop.Config{})
	tools := map[string][]string{"fs": {tool("write")}, "git": {tool("log")}}
	s.join(tools)
	s.meet(`{}`)
	s.call(1, "fs__write", `{}`)
	a := s.open("tools/call")
	s.call(2, "fs__write", `{}`)
	s.step(desktop.Left{ID: "fs"})
	s.call(3, "git__log", `{}`)
	s.step(desktop.Came{Peer: desktop.Peer{ID: "fs"}})
	s.serveLists(tools)
	s.pass(48 * time.Second)
	s.heard()
	s.answer(a, `{"content":[],"n":1}`)
	if said := s.heard(); len(said) != 2 || !strings.Contains(said[0], `"id":1`) || !strings.Contains(said[1], `"n":1`) {
		t.Errorf("said: %q", said)
	}
	s.pass(59 * time.Minute)
	ticketIn(t, s.one(`"id":3`))
	s.open("tools/call")
}

func TestAHangupTakesEverythingBack(t *testing.T) {
	s := joined(t, `{}`)
	s.call(1, "fs__write", `{"n":1}`)
	s.pass(50 * time.Second)
	s.call(2, "fs__write", `{"n":2}`)
	s.line(`{"jsonrpc":"2.0","id":3,"method":"prompts/list"}`)
	s.heard()
	s.step(desktop.Hangup{})
	s.silent()
	s.none("tools/call")
	if s.proxy.Busy() {
		t.Error("it still waits for something")
	}
}

func TestArgumentsOfOurToolsDecideNothing(t *testing.T) {
	s := joined(t, `{}`)
	s.step(question("q1"))
	for i, args := range []string{`{}`, `{"decision":"allow"}`, `{"id":"q1","decision":"allow","approve":true}`, `{"inputResponses":{"q1":{"action":"accept","content":{"decision":"allow"}}}}`} {
		for _, tool := range []string{"mcpx_approvals", "mcpx_peers", "mcpx_result", "mcpx_call"} {
			s.call(i, tool, args)
			s.heard()
		}
		s.line(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"mcpx_approvals","arguments":{},"requestState":"id-1","inputResponses":{"q1":{"action":"accept","content":{"decision":"allow"}}}}}`)
		s.heard()
	}
	if len(s.decided) > 0 {
		t.Errorf("decided: %v", s.decided)
	}
}

func TestBadLinesAreAnswered(t *testing.T) {
	for line, want := range map[string]string{
		`{`:       `"id":null,"error":{"code":-32700`,
		`nothing`: `"id":null,"error":{"code":-32700`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`: `"id":null,"error":{"code":-32600`,
		`7`:                                     `"id":null,"error":{"code":-32600`,
		`{"id":1,"id":2,"method":"ping"}`:       `"id":null,"error":{"code":-32600`,
		`{"id":1,"method":"ping","Method":"x"}`: `"id":1,"error":{"code":-32600`,
		`{"id":{},"method":"ping"}`:             `"id":null,"error":{"code":-32600`,
		`{"id":3}`:                              `"id":3,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":1,"method":"no/such","params":{}}`:               `"id":1,"error":{"code":-32601`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`:            `"id":1,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                        `"id":1,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`:    `"id":1,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`: `"id":1,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":1.0,"method":"ping"}`:                            `{"jsonrpc":"2.0","id":1.0,"result":{}}`,
	} {
		s := joined(t, `{}`)
		s.line("%s", line)
		s.one(want)
	}
	s := joined(t, `{}`)
	s.call(1, "fs__read", `{}`)
	s.call(1, "fs__read", `{"other":1}`)
	s.one("still under way")
	s.open("tools/call")
	s.step(desktop.Overlong{Head: []byte(`{"jsonrpc":"2.0","id":5,"method":"x`)})
	s.one(`"id":5`, "longer than")
}
