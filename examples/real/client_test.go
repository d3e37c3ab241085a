//go:build real

package real

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// What client.mjs says at its end.
type clientReport struct {
	Revision   string
	Tools      []string
	Echo       struct{ Content []struct{ Text string } }
	Structured struct{ StructuredContent json.RawMessage }
	Prompts    []string
	Resources  int
	Read       int
	Steps      int
	Refused    struct {
		IsError bool
		Content []struct{ Text string }
	}
	Unknown string
	Asked   []string
}

// The official clients before serve: old, new as it is by default, and new with
// the revision that has no handshake.
func TestRealClientsOfServe(t *testing.T) {
	s := set(t)
	dir := filepath.Join(t.TempDir(), "data")
	furnish(t, dir)
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(clientPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	serving(t, s, "run", "--json", "--listen", "127.0.0.1:0", "--id", "everything", "--policy", openPolicy(t), "--", command(t, "everything"), "stdio")
	serving(t, s, "run", "--json", "--id", "files", "--policy", policy, "--", command(t, "filesystem"), dir)
	for which, revision := range map[string]string{"v1": "2025-11-25", "v2-legacy": "2025-11-25", "v2-auto": "2026-07-28"} {
		t.Run(which, func(t *testing.T) { playClient(t, s, which).check(t, revision) })
	}
}

const clientPolicy = `version: 1
default: allow
asks:
  default: {of: [alice], within: 1m}
rules:
  - {name: readonly, deny: [write_file]}
  - {name: asked, ask: [list_allowed_directories]}
`

// playClient runs the client to its end. Meanwhile bob calls something that the
// client's person is asked about.
func playClient(t *testing.T, s *stage.Stage, which string) clientReport {
	t.Helper()
	client := exec.Command("node", clientScript(t), which, s.Bin(stage.Bridge), "serve", "--id", "alice")
	client.Env = s.Env()
	client.WaitDelay = time.Minute
	in, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := client.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	client.Stdout = &out
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { client.Process.Kill() })
	defer late.Stop()
	called := make(chan error, 1)
	said := bufio.NewScanner(errs)
	var all []string
	for said.Scan() {
		all = append(all, said.Text())
		switch {
		case said.Text() == "READY":
			go func() { called <- askForLeave(s) }()
		case strings.Contains(said.Text(), "asking alice"):
			io.WriteString(in, "go on\n")
		}
	}
	if err := client.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s", which, err, strings.Join(all, "\n"))
	}
	if err := <-called; err != nil {
		t.Error(err)
	}
	var r clientReport
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return r
}

func askForLeave(s *stage.Stage) error {
	got, err := s.Run(stage.Bridge, "call", "--id", "bob", "files", "list_allowed_directories")
	if err == nil && got.Exit != 0 {
		err = fmt.Errorf("bob's call: exit code %d: %s", got.Exit, got.Stderr)
	}
	return err
}

// clientScript puts the client where it finds its packages.
func clientScript(t *testing.T) string { return besideModules(t, "client.mjs") }

func besideModules(t *testing.T, script string) string {
	t.Helper()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(filepath.Join("..", "..", ".cache", "real", script))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (r clientReport) check(t *testing.T, revision string) {
	t.Helper()
	if r.Revision != "" && r.Revision != revision {
		t.Errorf("the client speaks %s", r.Revision)
	}
	for _, name := range []string{"everything__echo", "files__write_file", "mcpx_peers", "mcpx_call", "mcpx_approvals", "mcpx_result"} {
		if !slices.Contains(r.Tools, name) {
			t.Errorf("%s is not among the tools: %q", name, r.Tools)
		}
	}
	if len(r.Echo.Content) != 1 || r.Echo.Content[0].Text != "Echo: <b>&\u2028\U0001F980" {
		t.Errorf("echo: %v", r.Echo)
	}
	if want := `{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`; string(r.Structured.StructuredContent) != want {
		t.Errorf("structured: %s", r.Structured.StructuredContent)
	}
	if !slices.Contains(r.Prompts, "everything__args-prompt") || r.Resources == 0 || r.Read != 1 {
		t.Errorf("prompts %q, %d resources, %d read", r.Prompts, r.Resources, r.Read)
	}
	if r.Steps == 0 {
		t.Error("no progress was heard of")
	}
	if !r.Refused.IsError || len(r.Refused.Content) != 1 || !strings.Contains(r.Refused.Content[0].Text, "did not run") {
		t.Errorf("refused: %v", r.Refused)
	}
	if !strings.Contains(r.Unknown, "-32602") {
		t.Errorf("an unknown tool: %s", r.Unknown)
	}
	if len(r.Asked) != 1 || !strings.Contains(r.Asked[0], "bob requests permission to execute list_allowed_directories") {
		t.Errorf("asked: %q", r.Asked)
	}
}
