package policy_test

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What stands beside the arguments turns an allow into an ask, unless the file lists
// it by its name.
func TestWhatStandsBesideTheArgumentsRaisesAnAllow(t *testing.T) {
	const file = "default: deny\nrules:\n- {allow: [a]}\n- {ask: [b]}\n"
	for _, c := range []struct{ pass, tool, beside, want string }{
		{"", "a", ``, "allow"},
		{"", "a", `{"task":{}}`, "ask"},
		{"", "b", `{"task":{}}`, "ask"},
		{"", "c", `{"task":{}}`, "deny"},
		{"", "a", `{"_meta":{"account":"x"}}`, "ask"},
		{"", "a", `{"_meta":"x"}`, "ask"},
		{"", "a", `{`, "ask"},
		{"task", "a", `{"task":{}}`, "allow"},
		{"task", "a", `{"Task":{}}`, "ask"},
		{"task", "a", `{"task":{},"x":1}`, "ask"},
		{"task", "a", `{"_meta":{"task":1}}`, "ask"},
		{"_meta.account", "a", `{"_meta":{"account":"x"}}`, "allow"},
		{"_meta.account", "a", `{"_meta":{"account":"x","b":1}}`, "ask"},
		{"_meta.account", "a", `{"account":"x"}`, "ask"},
		{"_meta.vscode.id, task", "a", `{"_meta":{"vscode.id":1},"task":2}`, "allow"},
	} {
		text := file
		if c.pass != "" {
			text += "server: {pass: [" + c.pass + "]}\n"
		}
		d := load(t, text).Decide(policy.Call{From: "x", Via: "request", Method: "tools/call", Tool: c.tool, Beside: []byte(c.beside)}, nil)
		if d.Verdict.String() != c.want {
			t.Errorf("pass %q, %s with %s beside: %s", c.pass, c.tool, c.beside, d)
		}
		if raised := c.tool == "a" && c.want == "ask"; raised && (d.Rule != "server.pass" || d.Ask == nil || !strings.Contains(policy.Explain(d, ""), "server.pass: beside the arguments stand")) {
			t.Errorf("%s", policy.Explain(d, ""))
		}
	}
}

func TestWhatCannotPassIsALoadError(t *testing.T) {
	for _, pass := range []string{"'*'", "_meta", "_meta.*", "'_meta.'", "name", "arguments", "uri", "_meta.progressToken", "_meta.traceparent", "''", "[a?]"} {
		if _, err := policy.Load("p.yaml", []byte("version: 1\ndefault: ask\nserver: {pass: "+pass+"}\n")); err == nil {
			t.Errorf("pass: %s is taken", pass)
		}
	}
}
