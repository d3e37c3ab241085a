package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A sidecar is one real `mcpx-bridge run`, in this process, with a real server
// behind it.
type sidecar struct {
	t      *testing.T
	events *diary
	stderr *diary
	record string // every byte the server was given
	stop   context.CancelFunc
	exit   chan int
	code   int
	ended  bool
}

// A launch says how to start a sidecar. Zero fields mean the fixture: the
// server is stdiotest's, read_* is allowed, delete_* denied and the rest not
// allowed.
type launch struct {
	flags  []string // before the others, so they win nowhere twice
	env    map[string]string
	script stdiotest.Script
	server []string // instead of the script
	rules  []string // default: --allow read_* --deny delete_*; --allow and --deny alone are a closed list here
	id     string   // default fs
	raw    bool     // flags and server are the whole command line
}

// start starts a sidecar that is to join the gateway at url. It is stopped when
// the test ends.
func (l launch) start(t *testing.T, url string) *sidecar {
	t.Helper()
	s := &sidecar{t: t, events: newDiary(), stderr: newDiary(), exit: make(chan int, 1),
		record: filepath.Join(t.TempDir(), "given")}
	ctx, cancel := context.WithCancelCause(context.Background())
	s.stop = func() { cancel(errSignalled) }
	world := env{stdin: strings.NewReader(""), stdout: s.events, stderr: s.stderr, getenv: l.getenv(t), environ: os.Environ}
	args := l.args(t, url, s.record)
	go func() { s.exit <- run(ctx, args, world) }()
	t.Cleanup(func() { s.finish() })
	return s
}

func (l launch) args(t *testing.T, url, record string) []string {
	if l.raw {
		return append(slices.Clone(l.flags), l.server...)
	}
	id, rules, server := l.id, l.rules, l.server
	if id == "" {
		id = "fs"
	}
	if rules == nil {
		rules = []string{"--allow", "read_*", "--deny", "delete_*"}
	}
	if len(rules) > 0 && (rules[0] == "--allow" || rules[0] == "--deny") {
		rules = append(closedList(t), rules...)
	}
	if server == nil {
		script := l.script
		script.Record = record
		server = stdiotest.Command(t, script)
	}
	args := append([]string{"run", "--json"}, l.flags...)
	args = append(args, "--gateway", url, "--topic", "t1", "--id", id)
	args = append(args, rules...)
	return append(append(args, "--"), server...)
}

// openMethods is a policy under which all that is no tool call runs, and no tool but
// what --allow names.
func openMethods(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "methods.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ndefault: deny\nrules:\n  - {allow: [\"*\"], methods: [\"*\"], except: {methods: [tools/call]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--policy", file}
}

// closedList is a policy under which nothing runs but what --allow names.
func closedList(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "closed.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ndefault: deny\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--policy", file}
}

// getenv is the environment of our own settings; the server's is the real one.
func (l launch) getenv(t *testing.T) func(string) string {
	home := t.TempDir()
	return func(key string) string {
		switch value, ok := l.env[key]; {
		case ok:
			return value
		case key == "XDG_STATE_HOME" || key == "HOME":
			return home
		}
		return ""
	}
}

// perform starts a stage and a sidecar that is ready on it, with bob, alice and
// carol present.
func perform(t *testing.T, d tongue, l launch) (*stage, *sidecar) {
	t.Helper()
	g := openStage(t, d)
	if l.id != "" {
		g.me = l.id
	}
	s := l.start(t, g.url)
	g.side = s
	g.accept()
	g.greet("bob", "alice", "carol", "mallory")
	s.ready()
	g.settle()
	return g, s
}

// ready waits until calls are served.
func (s *sidecar) ready() map[string]any {
	s.t.Helper()
	return s.await(`{"event":"ready"}`)
}

// await waits for the next event that matches; those before it are passed over.
func (s *sidecar) await(pattern string) map[string]any {
	s.t.Helper()
	e, ok := s.events.next(pattern, patience)
	if !ok {
		s.t.Fatalf("no event %s\n%s", pattern, s.about())
	}
	return e
}

// dropped waits for the event that says why a frame was not acted on.
func (s *sidecar) dropped(reason string) {
	s.t.Helper()
	s.await(fmt.Sprintf(`{"event":"dropped","reason":%s}`, quoted(reason)))
}

// once waits for an event, and complains if it has come more than once by then.
func (s *sidecar) once(pattern string) {
	s.t.Helper()
	if s.events.first(pattern, patience); s.events.count(pattern) != 1 {
		s.t.Errorf("%d events %s\n%s", s.events.count(pattern), pattern, s.about())
	}
}

// given are the lines that the server was given for a method, in order.
func (s *sidecar) given(method string) (lines []string) {
	s.t.Helper()
	for _, line := range stdiotest.Recorded(s.t, s.record) {
		if m, _ := methodAndKey(line); m == method {
			lines = append(lines, line)
		}
	}
	return lines
}

// ran is how many calls the server was given.
func (s *sidecar) ran() int { return len(s.given("tools/call")) }

// wait waits for the program to end by itself.
func (s *sidecar) wait() int {
	s.t.Helper()
	if s.ended {
		return s.code
	}
	select {
	case s.code = <-s.exit:
		s.ended = true
	case <-time.After(2 * patience):
		s.t.Fatalf("the program does not end\n%s", s.about())
	}
	return s.code
}

// finish tells the program to stop and waits for it.
func (s *sidecar) finish() int {
	s.stop()
	return s.wait()
}

// about is what there is to know when a test fails.
func (s *sidecar) about() string {
	return fmt.Sprintf("-- events --\n%s-- stderr --\n%s-- given to the server --\n%s",
		tail(s.events.text()), tail(s.stderr.text()), tail(recorded(s.record)))
}

func recorded(path string) string {
	data, _ := os.ReadFile(path) // there may be none
	return string(data)
}

func tail(s string) string {
	lines := strings.SplitAfter(s, "\n")
	for i := range lines {
		if len(lines[i]) > 600 {
			lines[i] = lines[i][:600] + "…\n"
		}
	}
	return strings.Join(lines[max(0, len(lines)-40):], "")
}

// A diary keeps what is written to it, line by line.
type diary struct {
	mu    sync.Mutex
	lines []string
	part  []byte        // of the line that has not ended
	read  int           // lines that next has passed
	more  chan struct{} // closed, and made anew, when a line has come
}

func newDiary() *diary { return &diary{more: make(chan struct{})} }

func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.part = append(d.part, p...)
	for {
		line, rest, whole := bytes.Cut(d.part, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		d.lines = append(d.lines, string(line))
		d.part = rest
		close(d.more)
		d.more = make(chan struct{})
	}
}

func (d *diary) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(append(slices.Clone(d.lines), string(d.part)), "\n") + "\n"
}

// first waits for the first line of all that matches, and leaves next where it is.
func (d *diary) first(pattern string, within time.Duration) bool {
	here := d.mark()
	defer d.back(here)
	d.back(0)
	_, ok := d.next(pattern, within)
	return ok
}

// next is the next line, a JSON object, that matches.
func (d *diary) next(pattern string, within time.Duration) (map[string]any, bool) {
	late := time.After(within)
	for {
		d.mu.Lock()
		for d.read < len(d.lines) {
			line := d.lines[d.read]
			d.read++
			if (names{}).mismatch(pattern, line) == "" {
				d.mu.Unlock()
				var event map[string]any
				_ = json.Unmarshal([]byte(line), &event) // it has just been read
				return event, true
			}
		}
		more := d.more
		d.mu.Unlock()
		select {
		case <-more:
		case <-late:
			return nil, false
		}
	}
}

// after are the lines after the first n, which counts them from then on.
func (d *diary) after(n *int) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	from := *n
	*n = len(d.lines)
	return slices.Clone(d.lines[from:])
}

// length is how many lines there are.
func (d *diary) length() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.lines)
}

// mark is how far next has come, and back lets it go back there.
func (d *diary) mark() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.read
}

func (d *diary) back(to int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = to
}

// wait waits for one more line.
func (d *diary) wait(within time.Duration) bool {
	d.mu.Lock()
	more := d.more
	d.mu.Unlock()
	select {
	case <-more:
		return true
	case <-time.After(within):
		return false
	}
}

// count is how many lines so far match.
func (d *diary) count(pattern string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.lines {
		if (names{}).mismatch(pattern, line) == "" {
			n++
		}
	}
	return n
}
