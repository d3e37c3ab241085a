package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// Command lines. Each expects an exit code and that nothing was started: where
// the corpus writes x for a server, a server stands that would leave a trace.
var commandLines = map[string]func(*testing.T, badInput){
	"cli-001": func(t *testing.T, c badInput) { misuse(t, c, "needs the command of a server") },
	"cli-002": func(t *testing.T, c badInput) {
		argv := c.argv(t)[2:] // sh -c 'echo $0; $(id)'
		g, _ := withServer(t, launch{server: append(stdiotest.Command(t, stdiotest.Script{}), argv...)})
		g.request("w", "agent-a", call("42", "whoami", `{}`))
		frame := g.expect(d1.reply("agent-a", "w", "tools/call", "whoami", `{"id":42,"result":{"structuredContent":{"args":"*"}}}`))
		if !strings.Contains(frame, strings.TrimPrefix(mustJSON(t, argv), "[")) {
			t.Errorf("the server got other arguments than %q: %s", argv, frame)
		}
	},
	"cli-003": func(t *testing.T, c badInput) {
		s := misuse(t, c, "no flag --token", "MCPX_AUTH_TOKEN")
		if strings.Contains(s.stderr.text(), "SECRET") {
			t.Errorf("the token is repeated: %s", s.stderr.text())
		}
	},
	"cli-005": func(t *testing.T, c badInput) { misuse(t, c, "ws://") },
	"cli-006": func(t *testing.T, c badInput) { misuse(t, c, "--insecure") },
	"cli-008": func(t *testing.T, c badInput) { misuse(t, c, "/nonexistent", "hint:") },
	"cli-009": func(t *testing.T, c badInput) { misuse(t, c, "/dev/full", "hint:") },
	"cli-011": func(t *testing.T, c badInput) { misuse(t, c, "--behind-proxy") },
	"cli-012": cutLog,
	"cli-013": editedLog,
}

func TestBadCommandLines(t *testing.T) {
	for _, c := range of(t, "cli") {
		f := commandLines[c.ID]
		if f == nil {
			t.Errorf("%s has no test: %s", c.ID, c.Why)
			continue
		}
		t.Run(c.ID, func(t *testing.T) { f(t, c) })
	}
}

func (c badInput) argv(t *testing.T) []string {
	t.Helper()
	var in struct{ Argv []string }
	if err := json.Unmarshal(c.Input, &in); err != nil || len(in.Argv) == 0 {
		t.Fatalf("%s has no command line: %s", c.ID, c.Input)
	}
	return in.Argv
}

// misuse runs the command line. Each of words has to be on stderr.
func misuse(t *testing.T, c badInput, words ...string) *sidecar {
	t.Helper()
	pids := filepath.Join(t.TempDir(), "pids")
	argv := c.argv(t)
	if argv[len(argv)-1] == "x" {
		argv = append(argv[:len(argv)-1], stdiotest.Command(t, stdiotest.Script{Pids: pids})...)
	}
	s := launch{raw: true, flags: argv}.start(t, "")
	if code := s.wait(); code != c.Expect.Code {
		t.Errorf("exit %d, want %d\n%s", code, c.Expect.Code, s.about())
	}
	for _, word := range words {
		if !strings.Contains(s.stderr.text(), word) {
			t.Errorf("stderr does not say %q:\n%s", word, s.stderr.text())
		}
	}
	if started := stdiotest.Pids(t, pids); len(started) != 0 {
		t.Errorf("a server was started: %d", started)
	}
	return s
}
