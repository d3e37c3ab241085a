package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/config"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
)

// Commands for scripts that watch processes while they run:
//
//	start NAME PROGRAM ARG…     starts a process
//	entry NAME FILE SERVER      starts a server as the client with this FILE does
//	await NAME REGEXP [VAR]     waits until it prints a matching line, on stdout or
//	                            stderr, after what was awaited there; VAR gets the
//	                            first group
//	[!] said NAME REGEXP        everything it printed so far has a match
//	says NAME WORD…             writes a line to its stdin
//	closes NAME                 closes its stdin
//	field VAR KEY               VAR gets a text member of the first line of stdout
//	only TOOL VAR               VAR gets the id of the one question about TOOL
//	signal NAME TERM|INT|HUP|KILL sends a signal
//	exits NAME CODE             waits until it ends
//	[!] alive PID               there is such a process
//	hosting HOST OTHER A B      tells which of two actors hosts the local gateway
//	crowd URL N                 opens N connections that say nothing, until the script ends
//	mode FILE OCTAL             checks, or with =OCTAL sets, permission bits
type actorsKey struct{}

// patience bounds every wait: the time after which something is broken.
const patience = 30 * time.Second

type actors struct {
	env    *testscript.Env
	byName map[string]*actor
}

// An actor is a process that a script watches.
type actor struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan struct{} // closed when it has ended and its output is read
	code int           // then

	mu     sync.Mutex
	more   *sync.Cond
	lines  []string // of both streams, as they came
	stream []stream // stdout and stderr, whose order towards each other is nobody's promise
	late   bool
}

type stream struct {
	lines []string
	seen  int // lines up to the one that was awaited last
	ended bool
}

// over reports whether nothing more comes; the caller holds a.mu.
func (a *actor) over() bool {
	return a.late || a.stream[0].ended && a.stream[1].ended
}

func actorOf(ts *testscript.TestScript, name string) *actor {
	a := ts.Value(actorsKey{}).(*actors).byName[name]
	if a == nil {
		ts.Fatalf("nobody called %s was started", name)
	}
	return a
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value(actorsKey{}).(*actors)
	path, err := lookPath(ts, args[1])
	ts.Check(err)
	a := &actor{cmd: exec.Command(path, args[2:]...), done: make(chan struct{})}
	a.more = sync.NewCond(&a.mu)
	a.cmd.Dir, a.cmd.Env = ts.MkAbs("."), environment(ts, all.env)
	out, stdout := io.Pipe()
	errs, stderr := io.Pipe()
	a.cmd.Stdout, a.cmd.Stderr, a.stream = stdout, stderr, make([]stream, 2)
	a.cmd.WaitDelay = time.Second
	a.in, err = a.cmd.StdinPipe()
	ts.Check(err)
	ts.Check(a.cmd.Start())
	var read sync.WaitGroup
	read.Go(func() { a.read(out, &a.stream[0]) })
	read.Go(func() { a.read(errs, &a.stream[1]) })
	go func() {
		a.cmd.Wait()
		stdout.Close()
		stderr.Close()
		read.Wait()
		a.code = a.cmd.ProcessState.ExitCode()
		close(a.done)
	}()
	all.byName[args[0]] = a
	ts.Defer(func() { a.stop(ts, args[0]) })
}

// read collects lines; who awaits one is woken.
func (a *actor) read(out io.Reader, s *stream) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		a.mu.Lock()
		a.lines = append(a.lines, lines.Text())
		s.lines = append(s.lines, lines.Text())
		a.mu.Unlock()
		a.more.Broadcast()
	}
	a.mu.Lock()
	s.ended = true
	a.mu.Unlock()
	a.more.Broadcast()
}

func (a *actor) stop(ts *testscript.TestScript, name string) {
	a.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-a.done:
	case <-time.After(patience):
		a.cmd.Process.Kill()
		<-a.done
	}
	ts.Logf("[%s]\n%s", name, strings.Join(a.lines, "\n"))
}

// environment is the script's, with everything our program reads.
func environment(ts *testscript.TestScript, e *testscript.Env) []string {
	keys := map[string]bool{"MCPX_AUTH_TOKEN": true}
	for _, kv := range e.Vars {
		key, _, _ := strings.Cut(kv, "=")
		keys[key] = true
	}
	for name := range help.Settings((&program{}).root()) {
		keys[config.Env(name)] = true
	}
	var vars []string
	for _, key := range sortedKeys(keys) {
		if v := ts.Getenv(key); v != "" {
			vars = append(vars, key+"="+v)
		}
	}
	return vars
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	if filepath.IsAbs(name) {
		return exec.LookPath(name)
	}
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if path, err := exec.LookPath(dir + string(os.PathSeparator) + name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not in PATH", name)
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	a, pattern := actorOf(ts, args[0]), regexp.MustCompile(args[1])
	late := time.AfterFunc(patience, func() {
		a.mu.Lock()
		a.late = true
		a.mu.Unlock()
		a.more.Broadcast()
	})
	defer late.Stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		for i := range a.stream {
			if m := a.stream[i].find(pattern); m != nil {
				if len(args) > 2 {
					ts.Setenv(args[2], m[1])
				}
				return
			}
		}
		if a.over() {
			ts.Fatalf("%s never said %s; it said\n%s", args[0], args[1], strings.Join(a.lines, "\n"))
		}
		a.more.Wait()
	}
}

// find is the first match after what was awaited before.
func (s *stream) find(pattern *regexp.Regexp) []string {
	for i := s.seen; i < len(s.lines); i++ {
		if m := pattern.FindStringSubmatch(s.lines[i]); m != nil {
			s.seen = i + 1
			return m
		}
	}
	return nil
}

func said(ts *testscript.TestScript, neg bool, args []string) {
	a := actorOf(ts, args[0])
	a.mu.Lock()
	defer a.mu.Unlock()
	text := strings.Join(a.lines, "\n")
	if regexp.MustCompile("(?m)"+args[1]).MatchString(text) == neg {
		ts.Fatalf("%s said\n%s", args[0], text)
	}
}

// counts N PATTERN ACTOR… holds the lines that they have said, together, to a number.
func counts(ts *testscript.TestScript, neg bool, args []string) {
	n, all := 0, ""
	for _, name := range args[2:] {
		a := actorOf(ts, name)
		a.mu.Lock()
		for _, line := range a.lines {
			if regexp.MustCompile(args[1]).MatchString(line) {
				n++
			}
		}
		all += strings.Join(a.lines, "\n")
		a.mu.Unlock()
	}
	if fmt.Sprint(n) != args[0] {
		ts.Fatalf("%d lines say %s, not %s:\n%s", n, args[1], args[0], all)
	}
}

func sayTo(ts *testscript.TestScript, neg bool, args []string) {
	_, err := io.WriteString(actorOf(ts, args[0]).in, strings.Join(args[1:], " ")+"\n")
	ts.Check(err)
}

func closeStdin(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(actorOf(ts, args[0]).in.Close())
}

func field(ts *testscript.TestScript, neg bool, args []string) {
	line, _, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	m := regexp.MustCompile(`"` + args[1] + `":"([^"]*)"`).FindStringSubmatch(line)
	if m == nil {
		ts.Fatalf("there is no %s in %s", args[1], line)
	}
	ts.Setenv(args[0], m[1])
}

func onlyAbout(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("mcpx-bridge", "approvals", "list", "--json"))
	all := regexp.MustCompile(`"id":"([^"]*)",[^\n]*"tool":"`+args[0]+`"`).FindAllStringSubmatch(ts.ReadFile("stdout"), -1)
	if len(all) != 1 {
		ts.Fatalf("there are %d questions about %s", len(all), args[0])
	}
	ts.Setenv(args[1], all[0][1])
}

func signalActor(ts *testscript.TestScript, neg bool, args []string) {
	s := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}[args[1]]
	ts.Check(actorOf(ts, args[0]).cmd.Process.Signal(s))
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	a := actorOf(ts, args[0])
	select {
	case <-a.done:
	case <-time.After(patience):
		ts.Fatalf("%s does not end", args[0])
	}
	if want := args[1]; strconv.Itoa(a.code) != want {
		ts.Fatalf("%s ended with %d, want %s; it said\n%s", args[0], a.code, want, strings.Join(a.lines, "\n"))
	}
}

func alive(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(args[0])
	ts.Check(err)
	if lives(pid) == neg {
		ts.Fatalf("process %d: alive is %v", pid, !neg)
	}
}

func whoHosts(ts *testscript.TestScript, neg bool, args []string) {
	text, err := os.ReadFile(ts.MkAbs("state/mcpx-bridge/gateway.json"))
	ts.Check(err)
	var at struct{ PID int }
	ts.Check(json.Unmarshal(text, &at))
	host, other := args[2], args[3]
	if actorOf(ts, other).cmd.Process.Pid == at.PID {
		host, other = other, host
	}
	if actorOf(ts, host).cmd.Process.Pid != at.PID {
		ts.Fatalf("process %d hosts, which is neither", at.PID)
	}
	ts.Setenv(args[0], host)
	ts.Setenv(args[1], other)
}

func mode(ts *testscript.TestScript, neg bool, args []string) {
	bits, sets := strings.CutPrefix(args[1], "=")
	want, err := strconv.ParseUint(bits, 8, 32)
	ts.Check(err)
	file := ts.MkAbs(args[0])
	if sets {
		ts.Check(os.Chmod(file, os.FileMode(want)))
		return
	}
	info, err := os.Stat(file)
	ts.Check(err)
	if got := info.Mode().Perm(); got != os.FileMode(want) {
		ts.Fatalf("%s has mode %04o, want %04o", args[0], got, want)
	}
}

// stdiotestArgs makes this binary play a script, given in JSON.
func stdiotestArgs(script string) []string {
	return []string{"stdiotest-server", base64.RawURLEncoding.EncodeToString([]byte(script))}
}
