package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A block is one runnable block of README.md.
type block struct {
	script string
	says   []string // lines of the text block right after it: what the reader is promised
}

var fence = regexp.MustCompile("(?ms)^```sh runnable\n(.*?)^```\n(?:```text\n(.*?)^```\n)?")

func blocks(t *testing.T) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		b := block{script: m[1]}
		for line := range strings.Lines(m[2]) {
			b.says = append(b.says, strings.TrimSpace(line))
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		t.Fatal("README.md has no runnable block")
	}
	return all
}

// pause is what passes between two blocks while a reader reads: a bridge that
// was started in the background has taken its seat, a call that was made there
// is a question.
func (b block) pause() string {
	const until = "n=0\nuntil %s; do n=$((n + 1)); test $n -lt 600 || { echo 'waited for nothing: %[1]s'; exit 1; }; sleep 0.05; done"
	switch {
	case !strings.Contains(b.script, "&\n"):
		return ""
	case strings.Contains(b.script, "mcpx-bridge run "), strings.Contains(b.script, "mcpx-bridge attach "):
		return fmt.Sprintf(until, `bin/mcpx-bridge who 2>/dev/null | grep -q notes`)
	}
	return fmt.Sprintf(until, `bin/mcpx-bridge approvals list --json | grep -q digest`)
}

// TestReadme runs the runnable blocks of README.md as a reader would, one
// after the other in one shell, in a copy of the module.
func TestReadme(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the blocks are for a POSIX shell")
	}
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "bridge", "cmd", "examples", "policy", "stdio"} {
		if err := copyTree(filepath.Join("..", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	all := blocks(t)
	script := []string{"set -eu", "trap 'kill ${!:-} ${bridge:-} 2>/dev/null || true; wait' EXIT"}
	for _, b := range all {
		script = append(script, "echo '=== block'", b.script, b.pause())
	}
	out := shell(t, dir, strings.Join(script, "\n"))
	parts := strings.Split(out, "=== block\n")[1:]
	if len(parts) != len(all) {
		t.Fatalf("%d of %d blocks ran:\n%s", len(parts), len(all), out)
	}
	for i, b := range all {
		checkOrder(t, parts[i], b.says)
	}
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	cmd.WaitDelay = 10 * time.Second
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	stuck := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

// checkOrder finds every promised line in the output, in order. An ellipsis
// stands for lines that are other ones each time.
func checkOrder(t *testing.T, out string, says []string) {
	t.Helper()
	rest := out
	for _, line := range says {
		if line == "…" {
			continue
		}
		at := strings.Index(rest, line)
		if at < 0 {
			t.Errorf("README.md promises %q, the output is\n%s", line, out)
			return
		}
		rest = rest[at+len(line):]
	}
}

func copyTree(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
