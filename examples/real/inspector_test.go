//go:build real

package real

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// The Inspector's command line says of a server behind run --stdio what it says
// of the server itself.
func TestRealInspectorOfPassthrough(t *testing.T) {
	s := set(t)
	asks := map[string][][]string{
		"everything":          {{"tools/list"}, {"resources/list"}, {"prompts/list"}, {"tools/call", "--tool-name", "echo", "--tool-arg", "message=<b>&"}, {"tools/call", "--tool-name", "no-such-tool"}},
		"filesystem":          {{"tools/list"}, {"tools/call", "--tool-name", "list_allowed_directories"}},
		"memory":              {{"tools/list"}, {"tools/call", "--tool-name", "read_graph"}},
		"sequential-thinking": {{"tools/list"}},
	}
	for _, srv := range servers {
		dir := filepath.Join(t.TempDir(), "data")
		furnish(t, dir)
		argv := append([]string{command(t, srv.name)}, srv.args(dir)...)
		bridged := append([]string{s.Bin(stage.Bridge), "run", "--stdio", "--listen", "127.0.0.1:0", "--"}, argv...)
		for _, ask := range asks[srv.name] {
			want, wantCode := inspect(t, s, srv, dir, argv, ask)
			if got, code := inspect(t, s, srv, dir, bridged, ask); got != want || code != wantCode {
				t.Errorf("%s %v: through the bridge %d %.400s\ndirectly %d %.400s", srv.name, ask, code, got, wantCode, want)
			}
			if wantCode == 0 && len(want) < 20 {
				t.Errorf("%s %v: directly %q", srv.name, ask, want)
			}
		}
	}
	if logs, _ := filepath.Glob(filepath.Join(s.Dir, ".local", "state", "mcpx-bridge", "audit", "*.jsonl")); len(logs) != len(servers) {
		t.Errorf("the bridges did not keep their records on the stage: %v", logs)
	}
}

// inspect returns what the Inspector prints on stdout, and its exit code.
func inspect(t *testing.T, s *stage.Stage, srv server, dir string, argv, ask []string) (string, int) {
	t.Helper()
	bin := filepath.Join(filepath.Dir(command(t, "everything")), "mcp-inspector")
	cmd := exec.Command(bin, append(append([]string{"--cli"}, argv...), append([]string{"--format", "json", "--method"}, ask...)...)...)
	cmd.Env = append(append(s.Env(), "HOME="+s.Dir), srv.env(dir)...) // the Inspector tells its server where home is, and nothing else of ours
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	out, _ := cmd.Output() // the exit code says the rest
	return string(out), cmd.ProcessState.ExitCode()
}
