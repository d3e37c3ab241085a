package desktop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// changeable is a question of which something may be changed, and that may be passed on.
func changeable(id string) desktop.Asked {
	q := question(id)
	q.Question.DelegateTo = []string{"carol"}
	q.Question.Edits = []approval.Field{{Field: "target", Title: "Target", Type: "string", Enum: []string{`"production"`, `"staging"`}, Now: `"production"`},
		{Field: "timeout", Title: "Timeout (seconds)", Type: "number", Min: "1", Max: "300"}}
	return q
}

// answersOf are the answers to the form of changeable, with what is decided by them and
// said of that to the model (seed 003, pattern 2).
var answersOf = map[string][2]string{
	`{"decision":"allow"}`:                                            {"yes", "allowed"},
	`{"decision":"allow","target":"staging","timeout":60}`:            {`yes target="staging" timeout=60`, "allowed with changes"},
	`{"decision":"allow","target":"","timeout":""}`:                   {"yes", "allowed"},
	`{"decision":"allow","target":"moon"}`:                            {"no", "no valid one"},
	`{"decision":"allow","timeout":"60"}`:                             {"no", "no valid one"},
	`{"decision":"allow","timeout":301}`:                              {"no", "no valid one"},
	`{"decision":"allow","path":"/etc"}`:                              {"no", "no valid one"},
	`{"decision":"deny","target":"staging"}`:                          {"no", "denied"},
	`{"decision":"delegate","delegateTo":"carol","target":"staging"}`: {"carol", "passed on to carol"},
	`{"target":"staging"}`:                                            {"no", "no valid one"},
}

func decidedIn(t *testing.T, s *stage) string {
	t.Helper()
	if len(s.decided) != 1 {
		t.Fatalf("decided: %v", s.decided)
	}
	d := s.decided[0].Reply
	what := "no"
	switch {
	case d.To != "" && !d.Allow:
		what = d.To
	case d.Allow:
		what = "yes"
	}
	for _, e := range d.Fields {
		what += fmt.Sprintf(" %s=%s", e.Field, e.Raw)
	}
	return what
}

// What an approver may change stood in the form that the topic sent, and not in the
// client's dialog (FINDINGS S8).
func TestTheDialogHasWhatMayBeChanged(t *testing.T) {
	for content, want := range answersOf {
		s := joined(t, `{"elicitation":{}}`)
		s.step(changeable("q1"))
		s.call(1, "mcpx_approvals", `{}`)
		id := dialogIn(t, s.one(`"target":{"type":"string","title":"Target",`, `"enum":["production","staging"]`, `"minimum":1,"maximum":300`, `"required":["decision"]`))
		s.line(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":%s}}`, id, content)
		if got := decidedIn(t, s); got != want[0] {
			t.Errorf("%s decides %s", content, got)
		}
		s.one(`"id":1`, want[1])
	}
}

func TestTheModernRevisionHasWhatMayBeChanged(t *testing.T) {
	for content, want := range answersOf {
		s := newStage(t, desktop.Config{})
		s.join(nil)
		s.step(changeable("q1"))
		s.modernCall(1, "mcpx_approvals", `{}`, "")
		line := s.one(`"inputRequests":{"q1":{"method":"elicitation/create"`, `"target":{"type":"string","title":"Target",`, `"enum":["production","staging"]`, `"minimum":1,"maximum":300`)
		s.modernCall(2, "mcpx_approvals", `{}`, `,"requestState":"`+stateIn(t, line)+`","inputResponses":{"q1":{"action":"accept","content":`+content+`}}`)
		if got := decidedIn(t, s); got != want[0] {
			t.Errorf("%s decides %s", content, got)
		}
		s.one(`"id":2`, want[1])
	}
}

// The arguments of the model's tools change nothing of a question either.
func TestArgumentsOfOurToolsChangeNothing(t *testing.T) {
	s := joined(t, `{}`)
	s.step(changeable("q1"))
	for i, tool := range []string{"mcpx_approvals", "mcpx_call", "mcpx_peers", "mcpx_result", "fs__read"} {
		s.call(i, tool, `{"decision":"allow","target":"staging","delegateTo":"carol","content":{"decision":"allow","target":"staging"}}`)
		s.heard()
	}
	if len(s.decided) > 0 {
		t.Errorf("decided: %v", s.decided)
	}
}

// A form that is longer than a client shows is answered elsewhere, and not cut.
func TestAFormThatIsTooLongIsAnsweredElsewhere(t *testing.T) {
	s := joined(t, `{"elicitation":{}}`)
	q := changeable("q1")
	q.Question.Edits[0].Title = strings.Repeat("long ", 20<<10)
	s.step(q)
	s.call(1, "mcpx_approvals", `{}`)
	s.one(`"id":1`, "mcpx-bridge approve", "d-q1")
}
