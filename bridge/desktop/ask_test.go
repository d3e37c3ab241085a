package desktop_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// dialog is the id of the elicitation that was put to the client.
func dialogIn(t *testing.T, line string) string {
	t.Helper()
	var m struct {
		ID, Method string
		Params     struct {
			RequestedSchema struct {
				Required   []string
				Properties map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Method != "elicitation/create" {
		t.Fatalf("this is no elicitation: %s", line)
	}
	decision := string(m.Params.RequestedSchema.Properties["decision"])
	if strings.Contains(decision, "default") || !strings.Contains(decision, `"enum":["allow","deny"`) || len(m.Params.RequestedSchema.Required) != 1 {
		t.Fatalf("the decision need not be made: %s", line)
	}
	return m.ID
}

func TestAQuestionIsPutInsideACallOnly(t *testing.T) {
	s := joined(t, `{"elicitation":{}}`)
	s.step(question("q1"))
	s.silent()
	s.shown() // which is a request, and no call
	s.call(1, "fs__read", `{}`)
	id := dialogIn(t, s.one("bob wants rm q1"))
	s.line(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"decision":"allow","reason":"fine"}}}`, id)
	if len(s.decided) != 1 || !reflect.DeepEqual(s.decided[0], desktop.Decide{ID: "q1", Reply: approval.Reply{Allow: true, Reason: "fine"}}) {
		t.Errorf("decided: %v", s.decided)
	}
	s.silent()
	s.line(`{"jsonrpc":"2.0","id":%q,"result":{"action":"decline"}}`, id) // too late
	if len(s.decided) != 1 {
		t.Errorf("decided twice: %v", s.decided)
	}
}

func TestWhatIsNoDecisionIsANo(t *testing.T) {
	for _, answer := range []string{
		`{"action":"accept"}`, `{"action":"accept","content":{}}`, `{"action":"accept","content":null}`, `{"action":"accept","content":[]}`,
		`{"action":"accept","content":{"decision":"Allow"}}`, `{"action":"accept","content":{"decision":true}}`, `{"action":"accept","content":{"approve":true}}`,
		`{"action":"accept","content":{"decision":["allow"]}}`, `{"action":"accept","content":{"Decision":"allow"}}`, `{"action":"accept","content":"allow"}`,
		`{"action":"accept","content":{"decision":"delegate","delegateTo":"eve"}}`, `{"action":"accept","content":{"decision":"delegate"}}`,
		`{"action":"decline","content":{"decision":"allow"}}`, `{"action":"cancel","content":{"decision":"allow"}}`, `{"action":"ACCEPT","content":{"decision":"allow"}}`,
		`{"content":{"decision":"allow"}}`, `{}`, `{"action":"accept","content":{"decision":"deny"}}`,
	} {
		s := joined(t, `{"elicitation":{}}`)
		q := question("q1")
		q.Question.DelegateTo = []string{"carol"}
		s.step(q)
		s.call(1, "fs__read", `{}`)
		s.line(`{"jsonrpc":"2.0","id":%q,"result":%s}`, dialogIn(t, s.one()), answer)
		if len(s.decided) != 1 || s.decided[0].Reply.Allow || s.decided[0].Reply.To != "" {
			t.Errorf("%s: decided %v", answer, s.decided)
		}
	}
}

func TestAnAnswerThatCanBeReadInTwoWaysIsANo(t *testing.T) {
	s := joined(t, `{"elicitation":{}}`)
	s.step(question("q1"))
	s.call(1, "fs__read", `{}`)
	s.line(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"decision":"deny","decision":"allow"}}}`, dialogIn(t, s.one()))
	if len(s.decided) != 1 || s.decided[0].Reply.Allow {
		t.Errorf("decided: %v", s.decided)
	}
}

func TestAQuestionCanBePassedOn(t *testing.T) {
	s := joined(t, `{"elicitation":{"form":{}}}`)
	q := question("q1")
	q.Question.DelegateTo = []string{"carol"}
	s.step(q)
	s.call(1, "mcpx_approvals", `{}`)
	id := dialogIn(t, s.one(`"enum":["carol"]`))
	s.line(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"decision":"delegate","delegateTo":"carol"}}}`, id)
	if len(s.decided) != 1 || s.decided[0].Reply.To != "carol" {
		t.Errorf("decided: %v", s.decided)
	}
	s.one(`"id":1`, "[d-q1] passed on to carol", "no question waits")
}

func TestAClientWithoutElicitationIsToldWhereToDecide(t *testing.T) {
	for _, capabilities := range []string{`{}`, `{"elicitation":{"url":{}}}`} {
		s := joined(t, capabilities)
		s.step(question("q1"))
		s.call(1, "fs__read", `{}`)
		s.silent()
		s.call(2, "mcpx_approvals", `{}`)
		if line := s.one(`"id":2`, "d-q1", "mcpx-bridge approve"); strings.Contains(line, "bob wants") {
			t.Errorf("the model sees the question itself: %s", line)
		}
	}
}

func TestACancelledCallTakesItsDialogAlong(t *testing.T) {
	s := joined(t, `{"elicitation":{}}`)
	s.step(question("q1"))
	s.call(1, "fs__read", `{}`)
	id := dialogIn(t, s.one())
	s.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	s.one("notifications/cancelled", id)
	s.line(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"decision":"allow"}}}`, id)
	if len(s.decided) > 0 {
		t.Errorf("a dialog that was taken back decides: %v", s.decided)
	}
	s.call(2, "fs__read", `{}`) // the question is still one
	if other := dialogIn(t, s.one()); other == id {
		t.Error("the same id again")
	}
}

func TestADecidedQuestionsDialogIsClosed(t *testing.T) {
	s := joined(t, `{"elicitation":{}}`)
	s.step(question("q1"))
	s.call(1, "mcpx_approvals", `{}`)
	id := dialogIn(t, s.one())
	s.step(desktop.Settled{ID: "q1"})
	said := s.heard()
	if len(said) != 2 || !strings.Contains(said[0], "notifications/cancelled") || !strings.Contains(said[0], id) || !strings.Contains(said[1], "no longer asked") {
		t.Errorf("said: %q", said)
	}
}

func TestAClientThatCannotAskIsNotAskedAgain(t *testing.T) {
	s := joined(t, `{"elicitation":{}}`)
	s.step(question("q1"))
	s.call(1, "mcpx_approvals", `{}`)
	s.line(`{"jsonrpc":"2.0","id":%q,"error":{"code":-32601,"message":"no"}}`, dialogIn(t, s.one()))
	s.one(`"id":1`, "mcpx-bridge approve", "d-q1")
	if len(s.decided) > 0 {
		t.Errorf("decided: %v", s.decided)
	}
}

// A client that answers by a hook was asked again in the same moment, and so on without an end; a
// person was, without a reason.
func TestAQuestionWhoseAnswerCouldNotBeSentWasAskedAgainAtOnce(t *testing.T) {
	s := joined(t, `{"elicitation":{}}`)
	s.step(question("q1"))
	s.call(1, "fs__read", `{}`)
	s.fate = desktop.Decided{Unsent: "no seat"}
	answers := func(parts ...string) {
		t.Helper()
		s.line(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"decision":"allow"}}}`, dialogIn(t, s.one(parts...)))
		s.silent()
	}
	answers(`"message":"bob wants rm q1"`)
	again := `"message":"Please answer again: your answer could not be sent\nbob wants rm q1"`
	for _, pause := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		s.pass(pause - 1)
		s.silent()
		s.pass(1)
		answers(again)
	}
	for _, id := range []string{"git", "fs"} { // it may be that who asks was away
		s.silent()
		s.step(desktop.Left{ID: id})
		s.step(desktop.Came{Peer: desktop.Peer{ID: id}})
	}
	answers(again)
	s.step(desktop.Unseated{Why: "it broke"})
	s.silent()
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
	answers(again)
	if len(s.decided) != 6 {
		t.Errorf("decided: %v", s.decided)
	}
}

func TestAHundredParallelApprovals(t *testing.T) {
	s := joined(t, `{"elicitation":{}}`)
	for i := range 100 {
		s.call(i, "fs__write", fmt.Sprintf(`{"n":%d}`, i))
		s.step(question(fmt.Sprintf("q%d", i)))
	}
	for n := 0; n < 100; {
		said := s.heard()
		if len(said) == 0 || len(said) > 8 {
			t.Fatalf("%d questions at one time, after %d", len(said), n)
		}
		for _, line := range said {
			s.line(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"decision":"allow"}}}`, dialogIn(t, line))
			n++
		}
	}
	if len(s.decided) != 100 {
		t.Fatalf("%d decisions", len(s.decided))
	}
	for ref, a := range s.asks {
		if a.Method == "tools/call" {
			delete(s.asks, ref)
			s.step(desktop.Answered{Ref: ref, Result: fmt.Appendf(nil, `{"content":[],"params":%s}`, a.Params)})
		}
	}
	answered := map[string]bool{}
	for _, line := range s.heard() {
		answered[line] = true
	}
	for i := range 100 {
		if !answered[fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[],"params":{"name":"write","arguments":{"n":%d}}}}`, i, i)] {
			t.Errorf("call %d has not its own answer", i)
		}
	}
	if s.proxy.Busy() {
		t.Error("something still waits")
	}
}

func TestTheModernRevision(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": {tool("read")}})
	s.line(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`, modernMeta)
	s.one(`"supportedVersions":["2026-07-28"`, `"resultType":"complete"`, `"ttlMs":0`, `"cacheScope":"private"`, `"listChanged":true`)
	s.line(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{%s}}`, modernMeta)
	s.one(`"resultType":"complete"`, `"ttlMs":0`, "fs__read")
	s.modernCall(3, "fs__read", `{}`, "")
	s.answer(s.open("tools/call"), `{ "content":[] }`)
	s.one(`"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpx-bridge","title":"MCPx topic","version":"test"}},"content":[] }`)
	s.line(`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{%s}}`, strings.ReplaceAll(modernMeta, "2026-07-28", "2031-01-01"))
	s.one(`-32022`, `"requested":"2031-01-01"`, `"supported":["2026-07-28"`)

	s.step(desktop.Came{Peer: desktop.Peer{ID: "git"}})
	s.serveLists(map[string][]string{"git": {tool("log")}})
	s.pass(time.Second)
	s.silent() // nobody listens
	s.line(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"x":1},%s}}`, modernMeta)
	s.one("notifications/subscriptions/acknowledged", `"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}`, `"notifications":{"toolsListChanged":true}`)
	s.step(desktop.Came{Peer: desktop.Peer{ID: "hg"}})
	s.serveLists(map[string][]string{"hg": {tool("log")}})
	s.pass(time.Second)
	s.one(`"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}`)
	s.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}`)
	s.step(desktop.Left{ID: "hg"})
	s.pass(time.Minute)
	s.silent()
}

func stateIn(t *testing.T, line string) string {
	t.Helper()
	var m struct {
		Result struct{ ResultType, RequestState string }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Result.ResultType != "input_required" || m.Result.RequestState == "" {
		t.Fatalf("no input is required: %s", line)
	}
	return m.Result.RequestState
}

func TestQuestionsInTheModernRevision(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": {tool("read")}})
	s.modernCall(1, "fs__read", `{"n":1}`, "")
	call := s.open("tools/call")
	s.step(question("q1"))
	state := stateIn(t, s.one(`"id":1`, `"inputRequests":{"q1":{"method":"elicitation/create"`))
	yes := `"inputResponses":{"q1":{"action":"accept","content":{"decision":"allow"}}}`

	s.modernCall(2, "fs__read", `{"n":2}`, `,"requestState":"`+state+`",`+yes)
	s.one(`"id":2`, `-32602`) // of another call
	s.modernCall(3, "fs__read", `{"n":1}`, `,"requestState":"guessed",`+yes)
	s.one(`"id":3`, `-32602`)
	if len(s.decided) > 0 {
		t.Fatalf("decided: %v", s.decided)
	}
	s.modernCall(4, "fs__read", `{ "n":1}`, `,"requestState":"`+state+`",`+yes)
	if len(s.decided) != 1 || !s.decided[0].Reply.Allow {
		t.Fatalf("decided: %v", s.decided)
	}
	s.silent()
	if again := s.open("tools/call"); again.Ref != call.Ref {
		t.Error("the call is made twice")
	}
	s.modernCall(5, "fs__read", `{"n":1}`, `,"requestState":"`+state+`",`+yes)
	s.one(`"id":5`, `-32602`) // it counts once
	s.answer(call, `{"content":[]}`)
	s.one(`"id":4`, `"resultType":"complete"`)
}

func TestPatienceInTheModernRevision(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.join(map[string][]string{"fs": {tool("read")}})
	s.modernCall(1, "fs__read", `{}`, "")
	call := s.open("tools/call")
	for i := 2; i < 5; i++ {
		s.pass(50 * time.Second)
		line := s.one()
		if strings.Contains(line, "inputRequests") {
			t.Errorf("nothing is asked: %s", line)
		}
		s.modernCall(i, "fs__read", `{}`, `,"requestState":"`+stateIn(t, line)+`"`)
		s.silent()
	}
	s.answer(call, `{"content":[],"n":1}`)
	s.one(`"id":4`, `"n":1`)
}

func TestApprovalsInTheModernRevision(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.join(nil)
	s.step(question("q1"))
	s.step(question("q2"))
	s.modernCall(1, "mcpx_approvals", `{}`, "")
	line := s.one(`"q1":{`, `"q2":{`)
	s.modernCall(2, "mcpx_approvals", `{}`, `,"requestState":"`+stateIn(t, line)+`","inputResponses":{"q1":{"action":"cancel"}}`)
	if len(s.decided) != 1 || !s.decided[0].Reply.Dismiss {
		t.Errorf("decided: %v", s.decided)
	}
	s.one(`"id":2`, "[d-q1] closed without an answer", "d-q2", "mcpx-bridge approve") // what the client did not answer is not asked of it for ever
}
