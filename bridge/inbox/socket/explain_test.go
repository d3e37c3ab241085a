package socket_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// All of a call arrives: each rule here looks at something else of it. Who may look only may ask, too.
func TestTheBridgeSaysWhatItsRulesMakeOfACall(t *testing.T) {
	rules, err := policy.Load("p.yaml", []byte(`{version: 1, default: deny, rules: [
		{name: who, ask: "write_*", from: bob}, {name: way, ask: "write_*", via: proposal}, {name: what, ask: "write_*", args: {path: {under: /a}}},
		{name: when, ask: "write_*", hours: "Sat 09:00-17:00 UTC"}, {name: why, ask: "write_*", justification: required}]}`))
	if err != nil {
		t.Fatal(err)
	}
	h := inboxtest.New("fs")
	h.Rules.Store(rules)
	d := inboxtest.Open(t, socket.Options{Dir: filepath.Join(t.TempDir(), "control"), ID: "fs", Inbox: inbox.LookOnly(h)})
	said, err := dial(t, d.Path()).Explain(t.Context(), inbox.Call{From: "bob", Via: "proposal", Method: "tools/call", Tool: "write_file",
		Args: []byte(`{"path":"/a/b"}`), Why: "because", At: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)})
	if err != nil || !strings.HasPrefix(said, "ASK: write_file from bob, as a proposal\n") {
		t.Errorf("%s, %v", said, err)
	}
	for _, rule := range []string{"who", "way", "what", "when", "why"} {
		if !strings.Contains(said, "because of "+rule+" (line ") {
			t.Errorf("not because of %s:\n%s", rule, said)
		}
	}
}

// Nothing but a call is judged, and what leaves this machine says nothing of the rules.
func TestWhatIsNoCallIsNotJudged(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	h := inboxtest.New("fs")
	h.Rules.Store(policy.Default())
	ask := func(in inbox.Inbox, body string) int {
		t.Helper()
		s := httptest.NewServer(socket.Handler(in, 0))
		defer s.Close()
		got, err := http.Post(s.URL+"/explain", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		return got.StatusCode
	}
	for body, status := range map[string]int{`{}`: 200, `{"args":[null],"beside":7}`: 200, `{"from":1}`: 400, `{"form":"bob"}`: 400, `[]`: 400, ``: 400, `{"from":"` + strings.Repeat("x", 1<<20) + `"}`: 413} {
		if got := ask(h, body); got != status {
			t.Errorf("%.40s: %d", body, got)
		}
	}
	if got := ask(inbox.Public(h), `{}`); got != http.StatusNotFound {
		t.Errorf("from elsewhere: %d", got)
	}
}
