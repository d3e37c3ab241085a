package examples

import (
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

// pause is what passes between two blocks while a reader reads: the bridge
// that was started in the background has taken its seat.
const pause = `n=0
until bin/mcpx-bridge who 2>/dev/null | grep -q notes; do
	n=$((n + 1)); test $n -lt 600 || { echo "the bridge did not come up"; exit 1; }
	sleep 0.05
done`

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
	script := []string{"set -eu", "trap 'kill ${!:-} 2>/dev/null || true; wait' EXIT"}
	for i, b := range all {
		if i == 1 {
			script = append(script, pause)
		}
		script = append(script, "echo '=== block'", b.script)
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

// checkOrder finds every promised line in the output, in order.
func checkOrder(t *testing.T, out string, says []string) {
	t.Helper()
	rest := out
	for _, line := range says {
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
