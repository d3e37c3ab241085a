package examples

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A block is one runnable block of a page.
type block struct {
	script string
	says   []string // lines of the text block right after it: what the reader is promised
}

var fence = regexp.MustCompile("(?ms)^```sh runnable\n(.*?)^```\n(?:```text\n(.*?)^```\n)?")

func blocks(text string) []block {
	var all []block
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		b := block{script: m[1]}
		for line := range strings.Lines(m[2]) {
			b.says = append(b.says, strings.TrimSpace(line))
		}
		all = append(all, b)
	}
	return all
}

// notRun are the blocks of shell that no test can run, by how they begin, and why.
var notRun = map[string]string{
	"make sim ": "each takes minutes; the file of make has them",
	"bin/mcpx-bridge run --allow 'read_*' --allow 'list_*' -- npx ":    "takes node and the network; examples/real has this server",
	"bin/mcpx-bridge call filesystem ":                                 "calls that server",
	"mcpx-bridge gateway --listen :443 ":                               "takes a certificate, and a port that is not ours",
	"mcpx-bridge run --stdio --gate-host ":                             "a client starts it; examples/real has some",
	"mcpx-bridge run -- npx ":                                          "takes node and the network; examples/real has this server",
	"mcpx-bridge run --id notes --allow 'list_*' -- npx -y mcp-remote": "takes node, the network and a server that speaks HTTP",
	"mcpx-bridge run --notify ":                                        "shows something on a desktop",
	"sudo -u mcpx mcpx-bridge run ":                                    "takes a user of its own",
}

// TestEveryBlockIsHeldToWhatItSays: shell is run, or is known not to be; what it makes is a
// target, a policy is one, and JSON is JSON. No block is written so that no test sees it.
func TestEveryBlockIsHeldToWhatItSays(t *testing.T) {
	made, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	fenced := regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```\n")
	left := maps.Clone(notRun)
	for _, page := range append(pages(t), "../SECURITY.md", "../CONTRIBUTING.md", "bench/BENCH.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all := fenced.FindAllStringSubmatch(string(text), -1)
		if 2*len(all) != strings.Count(string(text), "```") {
			t.Errorf("%s: there are fences that do not stand at the beginning of a line, or have no end", page)
		}
		for _, m := range all {
			switch sort, block := m[1], m[2]; sort {
			case "text", "sh runnable": // which TestPages holds the program to
			case "sh":
				isKnown := func(begins, _ string) bool { return strings.HasPrefix(block, begins) }
				before := len(left)
				if maps.DeleteFunc(left, isKnown); len(left) == before {
					t.Errorf("%s: nobody runs this, and nothing says why:\n%s", page, block)
				}
			case "yaml":
				if _, err := policy.Load(page, []byte(block)); err != nil {
					t.Errorf("%v", err)
				}
			case "json":
				if !json.Valid([]byte(block)) {
					t.Errorf("%s: this is no JSON:\n%s", page, block)
				}
			default:
				t.Errorf("%s: there are no blocks of the sort %q", page, sort)
			}
		}
		for _, m := range regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)").FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(string(made), "\n"+m[1]+":") {
				t.Errorf("%s: make has no %s", page, m[1])
			}
		}
	}
	for begins, why := range left {
		t.Errorf("no block begins with %q any more (%s)", begins, why)
	}
}

// pages are what a reader is told: README.md first, then those of docs.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("../docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	return append([]string{"../README.md"}, docs...)
}

// pause is what passes between two blocks while a reader reads: a bridge that
// was started in the background has taken its seat, a call that was made there
// is a question.
func (b block) pause() string {
	const until = "n=0\nuntil %s; do n=$((n + 1)); test $n -lt 600 || { echo 'waited for nothing: %[1]s'; exit 1; }; sleep 0.05; done"
	switch {
	case !strings.Contains(b.script, "&\n"):
		return ""
	case strings.Contains(b.script, "ssh "):
		return fmt.Sprintf(until, `bin/mcpx-bridge who --gateway ws://127.0.0.1:17420 --id eve --token-file eve.token 2>/dev/null | grep -q notes`)
	case strings.Contains(b.script, "approve --id "):
		return fmt.Sprintf(until, `bin/mcpx-bridge who 2>/dev/null | awk '{print $1}' | grep -x -c -e ann -e ben | grep -q 2`)
	case strings.Contains(b.script, "mcpx-bridge run "), strings.Contains(b.script, "mcpx-bridge attach "):
		return fmt.Sprintf(until, `bin/mcpx-bridge who 2>/dev/null | grep -q notes`)
	}
	return fmt.Sprintf(until, `bin/mcpx-bridge approvals list --json | grep -q digest`)
}

// TestMain is ssh, if it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "ssh" {
		fmt.Fprintln(os.Stderr, forward(os.Args))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// forward is what ssh -N -L PORT:HOST:PORT does, with this machine for the other one.
func forward(args []string) error {
	at := slices.Index(args, "-L") + 1
	port, to, ok := strings.Cut(args[at], ":")
	if at == 0 || !ok {
		return fmt.Errorf("no ssh of ours: %q", args)
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	for {
		near, err := l.Accept()
		if err != nil {
			return err
		}
		far, err := net.Dial("tcp", to)
		if err != nil {
			return err
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			go func() {
				io.Copy(way[0], way[1])
				way[0].Close()
			}()
		}
	}
}

// TestPages runs the runnable blocks of each page as a reader would, one after the other
// in one shell, in a copy of the module, where the README's first block has built the
// programs.
func TestPages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the blocks are for a POSIX shell")
	}
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "bridge", "cmd", "examples", "policy", "stdio"} {
		if err := copyTree(filepath.Join("..", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all := blocks(string(text))
		if n := strings.Count(string(text), "```sh runnable"); n != len(all) {
			t.Errorf("%s: %d of %d runnable blocks can be read", page, len(all), n)
		}
		if len(all) > 0 {
			ran++
			t.Run(filepath.Base(page), func(t *testing.T) { play(t, dir, all) })
		}
	}
	if ran < 7 {
		t.Errorf("%d pages have runnable blocks", ran)
	}
}

// play runs the blocks of one page.
func play(t *testing.T, dir string, all []block) {
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

// TestLinesOfPagesAreShort: who reads the source of a page reads no line that wraps, and
// no difference of one is a paragraph. That goes for every page of the tree.
func TestLinesOfPagesAreShort(t *testing.T) {
	const most = 140
	read := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "dist", "node_modules"}, entry.Name())):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		n := 0
		for line := range strings.Lines(string(text)) {
			if n++; utf8.RuneCountInString(line) > most+1 {
				t.Errorf("%s:%d has more than %d characters", path, n, most)
			}
		}
		return nil
	})
	if err != nil || read < 15 {
		t.Errorf("%d pages were read: %v", read, err)
	}
	if info, err := os.Stat("../README.md"); err != nil || info.Size() > 10<<10 {
		t.Errorf("README.md has more than 10 KiB: %v", err)
	}
}

// TestLinksOfPagesLeadSomewhere: to a file that is there, and a heading that it has.
func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	for _, page := range append(pages(t), "../SECURITY.md", "../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			there, err := os.ReadFile(to)
			if err != nil || m[2] != "" && !slices.Contains(anchors(string(there)), m[2]) {
				t.Errorf("%s: %s leads nowhere", page, m[0])
			}
		}
	}
}

// anchors are the headings of a page as links name them.
func anchors(text string) []string {
	var all []string
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			title = drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			all = append(all, "#"+strings.ReplaceAll(title, " ", "-"))
		}
	}
	return all
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	home := filepath.Join(dir, "home") // of a reader who has Claude Desktop
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(dir, "tools")
	os.Mkdir(tools, 0o700)
	if err := os.Symlink(self, filepath.Join(tools, "ssh")); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	for _, kept := range []string{".config/Claude", "Library/Application Support/Claude"} {
		if err := os.MkdirAll(filepath.Join(home, kept), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	build, modules, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	// Built like this, what other tests have compiled already need not be compiled again.
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"PATH="+tools+string(filepath.ListSeparator)+os.Getenv("PATH"), "GOCACHE="+build, "GOMODCACHE="+modules, "CGO_ENABLED=0", "GOFLAGS=-trimpath")
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

// checkOrder finds every promised line in the output, in order. An ellipsis stands for
// what is another each time: lines, or a part of one.
func checkOrder(t *testing.T, out string, says []string) {
	t.Helper()
	rest := out
	for _, line := range says {
		for part := range strings.SplitSeq(line, "…") {
			at := strings.Index(rest, part)
			if at < 0 {
				t.Errorf("the page promises %q, the output is\n%s", line, out)
				return
			}
			rest = rest[at+len(part):]
		}
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
