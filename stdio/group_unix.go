//go:build unix

package stdio

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// A group is the process and its descendants, as far as they can be reached at
// once: here, its process group.
type group struct {
	leader int

	mu     sync.Mutex
	reaped bool // guarded by mu, as is asked: the number may be somebody else's now
	asked  bool // it has got its TERM
}

func (g *group) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = attributes() }

func (g *group) started(p *os.Process) { g.leader = p.Pid }

// terminate asks the group to go, once: to some a second TERM means at once.
func (g *group) terminate() {
	g.mu.Lock()
	asked := g.asked
	g.asked = true
	g.mu.Unlock()
	if !asked {
		g.signal(syscall.SIGTERM)
	}
}

func (g *group) kill() { g.signal(syscall.SIGKILL) }

func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reaped && g.leader > 0 { // 0 would be our own group
		syscall.Kill(-g.leader, s)
	}
}

func (g *group) close() {}

func signalOf(s *os.ProcessState) (name string, number int) {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal().String(), int(w.Signal())
	}
	return "", 0
}
