//go:build real

package real

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// The conformance suites find in a server behind run --stdio what they find in
// the server itself, scenario by scenario. What fails both ways fails because of
// the shim, which leaves out what is HTTP's alone, or of the server.
func TestRealConformanceOfPassthrough(t *testing.T) {
	node := recentNode(t)
	s, err := stage.Set(stage.Bridge)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Strike(); err != nil {
			t.Error(err)
		}
	})
	serving(t, s, "gateway", "--json", "--listen", "127.0.0.1:0")
	server := fetched(t, "bin", "everything-server")
	bridged := []string{s.Bin(stage.Bridge), "run", "--stdio", "--id", "server", "--allow", "*", "--", server}
	for _, suite := range []struct {
		name, module string
		args         []string
		passing      []string // directly, at least: else little is compared
	}{
		{"0.1.16", "@modelcontextprotocol/conformance", []string{"--suite", "all"},
			[]string{"tools-call-with-progress", "tools-call-sampling", "tools-call-elicitation", "elicitation-sep1330-enums", "resources-subscribe"}},
		{"2026-07-28", "conformance-2026-07-28", []string{"--requirements", "2026-07-28"},
			[]string{"tools-call-with-progress", "input-required-result-multi-round", "input-required-result-tampered-state", "caching"}},
	} {
		t.Run(suite.name, func(t *testing.T) {
			judge := append([]string{node, fetched(t, "node_modules", suite.module, "dist", "index.js"), "server"}, suite.args...)
			want := verdicts(t, append(judge, "--url", shimmed(t, []string{server}, s.Env())))
			for _, scenario := range suite.passing {
				if !slices.ContainsFunc(want, func(v string) bool { return strings.HasPrefix(v, "✓ "+scenario+":") }) {
					t.Errorf("directly %s does not pass: %q", scenario, want)
				}
			}
			got := verdicts(t, append(judge, "--url", shimmed(t, bridged, s.Env())))
			if !slices.Equal(got, want) {
				t.Errorf("through the bridge:\n%s\ndirectly:\n%s", strings.Join(except(got, want), "\n"), strings.Join(except(want, got), "\n"))
			}
			t.Logf("%d scenarios", len(want))
		})
	}
}

var verdict = regexp.MustCompile(`(?m)^[✓✗] [a-z0-9-]+: [0-9]+ passed, [0-9]+ failed`)

// verdicts runs a suite and returns what it says of each scenario.
func verdicts(t *testing.T, judge []string) []string {
	t.Helper()
	cmd := exec.Command(judge[0], judge[1:]...)
	cmd.Dir = t.TempDir()
	late := time.AfterFunc(4*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	out, _ := cmd.CombinedOutput() // its exit code says only whether everything passes
	all := verdict.FindAllString(string(out), -1)
	if len(all) < 30 {
		t.Fatalf("the suite says little:\n%s", out[max(0, len(out)-5000):])
	}
	return all
}

// recentNode is a node that the suites run on, 22 or later: the one from npm,
// where its install script may run, or that of this machine.
func recentNode(t *testing.T) string {
	t.Helper()
	ours, err := filepath.Abs(filepath.Join("..", "..", ".cache", "real", "node_modules", "node", "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{ours, "node"} {
		major := 0
		version, err := exec.Command(node, "--version").Output()
		if _, bad := fmt.Sscanf(string(version), "v%d.", &major); err == nil && bad == nil && major >= 22 {
			return node
		}
	}
	t.Skip("the suites need node 22 or later")
	return ""
}
