package desktop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// A hint that is left out is read as the worst, and an empty list of what is required is
// refused by clients that hold schemas to an older draft.
func TestOurToolsSayAllOfWhatTheyDo(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.join(nil)
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var m struct {
		Result struct {
			Tools []struct {
				Name        string
				Annotations map[string]bool
				InputSchema struct{ Required []string }
			}
		}
	}
	line := s.one()
	if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Tools) != 4 || strings.Contains(line, `"required":[]`) {
		t.Fatalf("%v in %s", err, line)
	}
	for _, tool := range m.Result.Tools {
		reads := tool.Name == "mcpx_peers" || tool.Name == "mcpx_result"
		if len(tool.Annotations) != 4 || tool.Annotations["readOnlyHint"] != reads || tool.Annotations["destructiveHint"] != (tool.Name == "mcpx_call") {
			t.Errorf("%s: %v", tool.Name, tool.Annotations)
		}
	}
}

// What our own tools are given is another's, too: it went through floating point where the
// library read it.
func TestOurToolsPassOnWhatTheyWereGiven(t *testing.T) {
	s := joined(t, `{}`)
	const args = `{"n":9007199254740993,"Ünicode <&>":[1.0,{"b":1,"a":2}],"Peer":"x"}`
	s.line(`{"jsonrpc":"2.0","id":18446744073709551617,"method":"tools/call","params":{"name":"mcpx_call","arguments":{"peer":"fs","tool":"read","arguments":%s}}}`, args)
	ask := s.open("tools/call")
	if want := `{"name":"read","arguments":` + args + `}`; string(ask.Params) != want {
		t.Errorf("asked with %s instead of %s", ask.Params, want)
	}
	s.answer(ask, `{"content":[{"type":"hologram","x":1.0}],"z":9007199254740993}`)
	s.one(`{"jsonrpc":"2.0","id":18446744073709551617,"result":{"content":[{"type":"hologram","x":1.0}],"z":9007199254740993}}`)
	s.call(2, "mcpx_call", `{"peer":"fs","tool":"read","why":"the \"build\" is red"}`)
	ask = s.open("tools/call")
	if want := `{"name":"read","arguments":{},"_meta":{"mcpx/justification":"the \"build\" is red"}}`; string(ask.Params) != want {
		t.Errorf("asked with %s instead of %s", ask.Params, want)
	}
	s.answer(ask, `{"content":[]}`)
	s.one(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	for _, wrong := range []string{`{"peer":"fs","tool":"read","why":7}`, `{"peer":"fs","Peer":"x","tool":"read"}`, `{"peer":7,"tool":"read"}`, `{"peer":"fs","tool":"read","arguments":[]}`} {
		s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcpx_call","arguments":%s}}`, wrong)
		s.one(`"id":1,"error":{"code":-32602,`)
		s.none("tools/call")
	}
}

// A client puts questions before its person in the order in which it reads them.
func TestQuestionsOfOneRoundKeepTheirOrder(t *testing.T) {
	s := joined(t, `{}`)
	for _, id := range []string{"q9", "q1", "q5"} {
		q := question(id)
		q.Question.Text += ` with {"a":"<b> & c"}`
		s.step(q)
	}
	s.modernCall(1, "mcpx_approvals", `{}`, "")
	line := s.one(`"resultType":"input_required"`, `"requestState":"id-1"`, `with {\"a\":\"<b> & c\"}`)
	if a, b, c := strings.Index(line, `"q9":`), strings.Index(line, `"q1":`), strings.Index(line, `"q5":`); a < 0 || a > b || b > c {
		t.Errorf("not in their order: %s", line)
	}
}

// Whoever has news steps the Server, and our own tools are answered there and then.
func TestOurToolsAreCalledFromAllSides(t *testing.T) {
	l := connect(t, "")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 25 {
				l.server.Step(desktop.Line{Text: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"%d-%d","method":"tools/call","params":{"name":"mcpx_peers"}}`, i, n)})
			}
		})
	}
	seen := map[string]bool{}
	for range 200 {
		var m struct {
			ID     string
			Result struct{ StructuredContent struct{ Peers []any } }
		}
		if err := json.Unmarshal([]byte(l.next(t)), &m); err != nil || seen[m.ID] || len(m.Result.StructuredContent.Peers) != 1 {
			t.Fatalf("%v %+v", err, m)
		}
		seen[m.ID] = true
	}
	all.Wait()
	l.in.Close()
	l.over(t)
}
