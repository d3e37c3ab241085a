// Package stage is what the examples play on: a private directory with our
// programs built into it and a state directory of its own, and the processes
// started there, all of which are gone when the stage is struck.
package stage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const module = "github.com/mcpx-protocol/mcpx-bridge/"

// Programs that a stage can build.
const (
	Bridge = module + "cmd/mcpx-bridge"
	Notes  = module + "examples/notes-server"
	Echo   = module + "examples/echo-server"
	Bare   = module + "examples/bench/bare"
	Load   = module + "examples/bench/load"
)

// A Stage is a directory and what runs in it. Strike it when done.
type Stage struct {
	Dir string
	bin string

	instead map[string]string // files that take the place of programs; not changed once shared

	mu      sync.Mutex
	started []*Process // in the order they were started
	apart   []*Stage
}

// Set makes a stage and builds programs, named by their import paths. It must
// be called from within the module.
func Set(programs ...string) (*Stage, error) {
	dir, err := os.MkdirTemp("", "mcpx-")
	if err != nil {
		return nil, err
	}
	s := &Stage{Dir: dir, bin: filepath.Join(dir, "bin")}
	build := exec.Command("go", append([]string{"build", "-trimpath", "-o", s.bin + string(filepath.Separator)}, programs...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("go build: %w\n%s", err, out), s.Strike())
	}
	return s, nil
}

// Instead has a file take the place of a program on this stage. It must be called
// before anything is started there.
func (s *Stage) Instead(program, file string) {
	s.instead = map[string]string{program: file}
}

// Bin is the path of a program that was built, named by its import path.
func (s *Stage) Bin(program string) string {
	if file := s.instead[program]; file != "" {
		return file
	}
	name := program[strings.LastIndex(program, "/")+1:]
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(s.bin, name)
}

// Apart is a stage with the same programs and a state directory of its own,
// so that bridges on one do not find those on the other. It is struck with s.
func (s *Stage) Apart(name string) (*Stage, error) {
	a := &Stage{Dir: filepath.Join(s.Dir, name), bin: s.bin, instead: s.instead}
	s.mu.Lock()
	s.apart = append(s.apart, a)
	s.mu.Unlock()
	return a, os.Mkdir(a.Dir, 0o700)
}

// Env is our environment without anything of MCPX, and with a state directory
// on the stage, so that nothing here meets the user's own bridges.
func (s *Stage) Env() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "MCPX_") && !strings.HasPrefix(kv, "XDG_STATE_HOME=") {
			env = append(env, kv)
		}
	}
	return append(env, "XDG_STATE_HOME="+filepath.Join(s.Dir, "state"))
}

// Start starts a program. It runs until it is stopped or the stage is struck.
// What it prints must be read with Line, or dropped with Ignore.
func (s *Stage) Start(program string, args ...string) (*Process, error) {
	p := s.prepare(program, args)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.launch(p); err != nil {
		return nil, err
	}
	go p.read(stdout)
	return p, nil
}

// Record starts a program that prints into a file, so that nobody has to be
// awake to read it, and returns the first line.
func (s *Stage) Record(program string, args ...string) (*Process, string, error) {
	file, err := os.CreateTemp(s.Dir, "record-")
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	p := s.prepare(program, args)
	p.cmd.Stdout = file
	if err := s.launch(p); err != nil {
		return nil, "", err
	}
	go p.wait()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(file.Name())
		if line, _, whole := strings.Cut(string(text), "\n"); whole || err != nil {
			return p, line, err
		}
		select {
		case <-p.ended:
			return nil, "", fmt.Errorf("%s ended (%s)\n%s", p.name, p.cmd.ProcessState, p.stderr.String())
		default:
		}
		if time.Now().After(deadline) {
			return nil, "", fmt.Errorf("%s said nothing for %s\n%s", p.name, patience, p.stderr.String())
		}
	}
}

func (s *Stage) prepare(program string, args []string) *Process {
	p := &Process{name: program, cmd: exec.Command(s.Bin(program), args...), lines: make(chan string), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr = s.Env(), &p.stderr
	return p
}

// launch starts what was prepared and notes that it is to be stopped.
func (s *Stage) launch(p *Process) (err error) {
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.PID = p.cmd.Process.Pid
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, p)
	return nil
}

// An Outcome is how a program ended.
type Outcome struct {
	Stdout, Stderr string
	Exit           int
}

// Run runs a program to its end. The error says that it could not be run at all.
func (s *Stage) Run(program string, args ...string) (Outcome, error) {
	var stdout, stderr strings.Builder
	cmd := exec.Command(s.Bin(program), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.Env(), &stdout, &stderr
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		err = nil
	}
	return Outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}, err
}

// A Ready event is the first line of run and gateway.
type Ready struct {
	URL     string `json:"url"`     // of gateway
	Gateway string `json:"gateway"` // of run
}

// Ready starts a command of the bridge, which needs --json among its arguments
// and prints into a file, and waits until it serves.
func (s *Stage) Ready(args ...string) (*Process, Ready, error) {
	var r Ready
	p, line, err := s.Record(Bridge, args...)
	if err != nil {
		return nil, r, err
	}
	return p, r, json.Unmarshal([]byte(line), &r)
}

// Token makes a token for a gateway of this stage, and returns the name of the
// file that it is in.
func (s *Stage) Token(topic, id string) (file string, err error) {
	out, err := s.Run(Bridge, "token", "--topic", topic, "--id", id)
	if err == nil && out.Exit != 0 {
		err = errors.New(out.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	file = filepath.Join(s.Dir, topic+"."+id+".token")
	return file, os.WriteFile(file, []byte(out.Stdout), 0o600)
}

// Metric reads one number of a gateway of ours, named without "mcpx_gateway_".
func Metric(url, name string) (n int, err error) {
	once := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // the gateway is left as it was
	answer, err := once.Get("http" + strings.TrimPrefix(url, "ws") + "/metrics")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	_, value, ok := strings.Cut(string(text), "\nmcpx_gateway_"+name+" ")
	if !ok {
		return 0, fmt.Errorf("the gateway counts no %s", name)
	}
	_, err = fmt.Sscan(value, &n)
	return n, err
}

// Strike stops what was started, last first, and removes the directory.
func (s *Stage) Strike() error {
	s.mu.Lock()
	started, apart := s.started, s.apart
	s.started, s.apart = nil, nil
	s.mu.Unlock()
	var errs []error
	for _, a := range apart {
		errs = append(errs, a.Strike())
	}
	for i := len(started) - 1; i >= 0; i-- {
		errs = append(errs, started[i].Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.Dir))...)
}
