//go:build real

package real

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// The official clients, old and new, say and hear through run --stdio what they
// say and hear without, while the topic uses the same server.
func TestRealClientsOfPassthrough(t *testing.T) {
	s := set(t)
	serving(t, s, "gateway", "--json", "--listen", "127.0.0.1:0")
	for _, srv := range servers {
		for _, which := range []string{"v1", "v2-legacy", "v2-auto"} {
			t.Run(srv.name+" "+which, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "data")
				argv := append([]string{command(t, srv.name)}, srv.args(dir)...)
				furnish(t, dir)
				want := transcript(t, s, srv, which, dir, argv, nil)
				if all := strings.Join(want, "\n"); srv.name == "everything" {
					for _, asked := range []string{"elicitation/create", "sampling/createMessage", "roots/list", "notifications/progress"} {
						if !strings.Contains(all, `"method":"`+asked) {
							t.Errorf("directly there is no %s", asked)
						}
					}
				}
				furnish(t, dir)
				bridged := append([]string{s.Bin(stage.Bridge), "run", "--stdio", "--id", "server", "--allow", "*", "--"}, argv...)
				got := transcript(t, s, srv, which, dir, bridged, func() {
					out, err := s.Run(stage.Bridge, "tools", "server")
					if err != nil || out.Exit != 0 || strings.Count(out.Stdout, "\n") < 2 {
						t.Errorf("the topic does not have the server: %v %+v", err, out)
					}
				})
				if !slices.Equal(got, want) {
					t.Errorf("through the bridge:\n%s\ndirectly:\n%s", strings.Join(except(got, want), "\n"), strings.Join(except(want, got), "\n"))
				}
			})
		}
	}
}

// random is what differs from run to run.
var random = regexp.MustCompile(`"(timestamp|requestId|startedAt)":("[^"]*"|[0-9]+)|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)

// transcript runs a client to its end and returns what was said, in no order:
// notifications come when they come.
func transcript(t *testing.T, s *stage.Stage, srv server, which, dir string, argv []string, meanwhile func()) []string {
	t.Helper()
	client := exec.Command("node", append([]string{besideModules(t, "pass.mjs"), which, srv.name, dir}, argv...)...)
	client.Env = append(s.Env(), srv.env(dir)...)
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
	var log []string
	for said := bufio.NewScanner(errs); said.Scan(); {
		log = append(log, said.Text())
		if said.Text() != "READY" {
			continue
		}
		if meanwhile != nil {
			meanwhile()
		}
		io.WriteString(in, "go on\n")
	}
	if err := client.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%.5000s", err, strings.Join(log, "\n"), out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) < 10 {
		t.Fatalf("little was said: %s", out.String())
	}
	for i, line := range lines {
		lines[i] = random.ReplaceAllString(line, "…")
	}
	slices.Sort(lines)
	return lines
}

// except are the lines of a that are not in b, cut to be read.
func except(a, b []string) (left []string) {
	for _, line := range a {
		if !slices.Contains(b, line) {
			left = append(left, line[:min(len(line), 600)])
		}
	}
	return left
}
