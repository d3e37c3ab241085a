package stage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// patience is how long a process may take to say its next line, or to end
// after it was asked to.
const patience = 30 * time.Second

// A Process is a program that runs on a stage.
type Process struct {
	PID int

	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string // what it prints; closed at the end
	stderr tail
	ended  chan struct{}
	once   sync.Once
}

func (p *Process) read(stdout io.Reader) {
	for in := bufio.NewReader(stdout); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		p.lines <- line
	}
	p.wait()
}

func (p *Process) wait() {
	p.cmd.Wait()
	close(p.lines)
	close(p.ended)
}

// Line returns the next line that the process prints.
func (p *Process) Line() (string, error) {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", fmt.Errorf("%s ended (%s)\n%s", p.name, p.cmd.ProcessState, p.stderr.String())
		}
		return line, nil
	case <-time.After(patience):
		return "", fmt.Errorf("%s said nothing for %s\n%s", p.name, patience, p.stderr.String())
	}
}

// Ignore drops all further lines.
func (p *Process) Ignore() {
	go func() {
		for range p.lines {
		}
	}()
}

// Write writes to the process's standard input.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Stderr is the end of what the process said on stderr.
func (p *Process) Stderr() string { return p.stderr.String() }

// Signal sends a signal.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// End waits until the process has ended and returns its exit code, -1 if a
// signal ended it. What it still prints is dropped.
func (p *Process) End() (exit int, err error) {
	p.Ignore()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(patience):
		return 0, fmt.Errorf("%s does not end\n%s", p.name, p.stderr.String())
	}
}

// Stop closes the process's input, interrupts it, and after a while kills it.
// Only the last is an error.
func (p *Process) Stop() (err error) {
	p.once.Do(func() {
		p.Ignore()
		p.stdin.Close()
		if runtime.GOOS == "windows" {
			p.cmd.Process.Kill() // there is no interrupt to send
		} else {
			p.cmd.Process.Signal(os.Interrupt)
		}
		select {
		case <-p.ended:
		case <-time.After(patience):
			p.cmd.Process.Kill()
			<-p.ended
			err = errors.New(p.name + " had to be killed")
		}
	})
	return err
}

// A tail keeps the end of what is written to it, long enough for the stacks of
// some hundred goroutines.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailSize = 256 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if over := t.buf.Len() - tailSize; over > 0 {
		t.buf.Next(over)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
