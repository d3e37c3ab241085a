//go:build real

package real

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// A suite is one version of the conformance suites, and what it finds in the
// server itself. What fails there does so of the server, which has no tasks and
// takes a request without _meta for one of an older revision, or of the shim,
// which leaves out what is HTTP's alone: headers, origins, status codes.
type suite struct {
	name, module string
	args         []string
	scenarios    int
	failing      []string
}

var suites = []suite{
	{
		name: "0.1.16", module: "@modelcontextprotocol/conformance", args: []string{"--suite", "all"},
		scenarios: 32, failing: []string{"dns-rebinding-protection"},
	},
	{
		name: "2026-07-28", module: "conformance-2026-07-28", args: []string{"--requirements", "2026-07-28"},
		scenarios: 50, failing: []string{
			"dns-rebinding-protection", "http-custom-header-server-validation", "http-header-validation", "server-stateless",
			"tasks-capability-negotiation", "tasks-dispatch-and-envelope", "tasks-lifecycle", "tasks-mrtr-composition", "tasks-mrtr-input",
			"tasks-request-headers", "tasks-request-state-removal", "tasks-required-task-error", "tasks-wire-fields",
		},
	},
}

// The conformance suites find in a server behind run --stdio what they find in
// the server itself, check by check, while it sits in a topic.
func TestRealConformanceOfPassthrough(t *testing.T) {
	node := recentNode(t)
	s := set(t)
	serving(t, s, "gateway", "--json", "--listen", "127.0.0.1:0")
	server := fetched(t, "bin", "everything-server")
	direct := func(int) []string { return []string{server} }
	for _, suite := range suites {
		t.Run(suite.name, func(t *testing.T) {
			want := suite.judge(t, node, shimmed(t, direct, s.Env()))
			if want.scenarios != suite.scenarios || !slices.Equal(want.failing, suite.failing) {
				t.Errorf("directly %d scenarios, of which fail %q", want.scenarios, want.failing)
			}
			id := "server-" + strings.ReplaceAll(suite.name, ".", "-") + "-"
			got := suite.judge(t, node, shimmed(t, func(nth int) []string {
				return []string{s.Bin(stage.Bridge), "run", "--stdio", "--id", id + strconv.Itoa(nth), "--allow", "*", "--", server}
			}, s.Env()))
			if out, err := s.Run(stage.Bridge, "tools", id+"1"); err != nil || !strings.Contains(out.Stdout, "test_simple_text") {
				t.Errorf("the topic does not have the server: %v %+v", err, out)
			}
			if !slices.Equal(got.failing, want.failing) || !slices.Equal(got.checks, want.checks) {
				t.Errorf("through the bridge:\n%s\ndirectly:\n%s", strings.Join(except(got.checks, want.checks), "\n"), strings.Join(except(want.checks, got.checks), "\n"))
			}
			t.Logf("%d checks in %d scenarios, of which %d fail", len(want.checks), want.scenarios, len(want.failing))
		})
	}
}

// findings are what a suite says of a server.
type findings struct {
	scenarios int
	failing   []string // in order
	checks    []string // each with its scenario, and with what was seen; in order
}

var (
	verdict = regexp.MustCompile(`(?m)^([✓✗]) ([a-z0-9-]+): [0-9]+ passed, [0-9]+ failed`)
	saidIn  = regexp.MustCompile(`^(?:server-)?(.+)-\d{4}-\d\d-\d\dT`)
	chance  = regexp.MustCompile(`"(?:[^"]*/)?subscriptionId": ?[0-9]+|(?:127\.0\.0\.1|localhost):[0-9]+`) // differs from run to run
)

// judge runs a suite to its end, which takes it seconds.
func (u suite) judge(t *testing.T, node, url string) (all findings) {
	t.Helper()
	cmd := exec.Command(node, append([]string{fetched(t, "node_modules", u.module, "dist", "index.js"), "server", "--url", url, "--output-dir", "said"}, u.args...)...)
	cmd.Dir = t.TempDir()
	late := time.AfterFunc(4*time.Minute, func() { cmd.Process.Kill() })
	out, _ := cmd.CombinedOutput() // its exit code says only whether everything passes
	if !late.Stop() {
		t.Fatalf("the suite does not end:\n%s", out[max(0, len(out)-5000):])
	}
	for _, v := range verdict.FindAllStringSubmatch(string(out), -1) {
		all.scenarios++
		if v[1] == "✗" {
			all.failing = append(all.failing, v[2])
		}
	}
	slices.Sort(all.failing)
	files, err := filepath.Glob(filepath.Join(cmd.Dir, "said", "*", "checks.json"))
	if err != nil || len(files) != all.scenarios {
		t.Fatalf("%d scenarios, %d of them in files: %v\n%s", all.scenarios, len(files), err, out[max(0, len(out)-5000):])
	}
	for _, file := range files {
		all.checks = append(all.checks, checks(t, file)...)
	}
	slices.Sort(all.checks)
	return all
}

// checks are what a suite has found in one scenario, and no protocol of it.
func checks(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var found []struct {
		ID, Status, ErrorMessage string
		Details                  json.RawMessage
	}
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	scenario := saidIn.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
	for _, c := range found {
		if c.Status != "INFO" {
			line := fmt.Sprintf("%s: %s %s %s %s", scenario[1], c.Status, c.ID, c.ErrorMessage, c.Details)
			all = append(all, chance.ReplaceAllString(strings.Join(strings.Fields(line), " "), "…"))
		}
	}
	return all
}

// recentNode is a node that the suites run on, 22 or later: the one from npm,
// which has one for some platforms, or that of this machine.
func recentNode(t *testing.T) string {
	t.Helper()
	ours, err := filepath.Abs(filepath.Join("..", "..", ".cache", "real", "node_modules", ".bin", "node"))
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
