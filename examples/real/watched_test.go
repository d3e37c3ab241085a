//go:build real

package real

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// The conformance suites see a client that speaks through run --stdio do what it
// does without. What of them is about HTTP, or signing in there, has no place here,
// nor has request-metadata, which rejects whoever asks first: the bridge may.
func TestRealConformanceOfClients(t *testing.T) {
	node := recentNode(t)
	s := set(t)
	serving(t, s, "gateway", "--json", "--listen", "127.0.0.1:0")
	bridge := []string{s.Bin(stage.Bridge), "run", "--stdio", "--id", "server", "--allow", "*", "--"}
	for _, w := range []struct {
		client, module string
		scenarios      []string
	}{
		{"v1", "@modelcontextprotocol/conformance", []string{"initialize", "tools_call", "elicitation-sep1034-client-defaults"}},
		{"v2", "conformance-2026-07-28", []string{"tools_call", "sep-2322-client-request-state", "json-schema-ref-no-deref"}},
	} {
		for _, scenario := range w.scenarios {
			t.Run(w.client+" "+scenario, func(t *testing.T) {
				judge := []string{node, fetched(t, "node_modules", w.module, "dist", "index.js"), "client", "--scenario", scenario}
				want := watched(t, s, judge, node, w.client, nil)
				if !slices.ContainsFunc(want, passes) || slices.ContainsFunc(want, fails) {
					t.Errorf("directly: %q", want)
				}
				if got := watched(t, s, judge, node, w.client, bridge); !slices.Equal(got, want) {
					t.Errorf("through the bridge:\n%s\ndirectly:\n%s", strings.Join(except(got, want), "\n"), strings.Join(except(want, got), "\n"))
				}
			})
		}
	}
}

func passes(check string) bool { return strings.Contains(check, ": SUCCESS ") }

func fails(check string) bool { return strings.Contains(check, ": FAILURE ") }

// watched runs one scenario with a client whose server's command stands behind
// front, and returns what was found, without what was seen: the bridge asks
// something too.
func watched(t *testing.T, s *stage.Stage, judge []string, node, which string, front []string) (all []string) {
	t.Helper()
	client := append([]string{node, besideModules(t, "asking.mjs"), which}, front...)
	client = append(client, node, besideModules(t, "relay.mjs"), which)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, judge[0], append(judge[1:], "--output-dir", "said", "--timeout", "60000", "--command", strings.Join(client, " "))...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.TempDir(), s.Env(), time.Minute
	out, _ := cmd.CombinedOutput() // the files say it
	files, err := filepath.Glob(filepath.Join(cmd.Dir, "said", "*", "checks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d findings: %v\n%s", len(files), err, out)
	}
	for _, check := range checks(t, files[0]) {
		found, _, _ := strings.Cut(check, " {")
		all = append(all, found)
	}
	slices.Sort(all)
	return all
}
