package stdio

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What a server starts may leave its process group (setsid), and is nobody's child
// any more when the server ends. With [Options].Sweep such processes become ours:
// we are their subreaper, which the kernel has once per process. So they can be
// found, by whose children they are, and ended, and nobody else can be hit: a child
// keeps its number until we have reaped it.
//
// It ends with us. After a SIGKILL of ours the server itself goes (attributes), and
// what it left goes to init, which nobody short of a cgroup can keep it from. It is found
// by the next start, by the mark in its environment ([Marked]).

// kin are the children of this process, as far as they are known.
var kin struct {
	mu     sync.Mutex
	reaper bool           // we are a subreaper
	ours   map[int]bool   // that we have started, and whoever did waits for
	spared map[int]uint64 // what is let be, and when it began, in the kernel's ticks
}

// A relative is one line of /proc.
type relative struct {
	pid, parent int
	group       int
	began       uint64
	ended       bool // and not reaped
}

// startKin starts a command so that its pid is known before anybody looks for
// children that nobody waits for.
func startKin(cmd *exec.Cmd) error {
	kin.mu.Lock()
	defer kin.mu.Unlock()
	kin.reaper = kin.reaper || unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
	return startLocked(cmd)
}

// startLocked starts a command that whoever calls it waits for.
func startLocked(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	if kin.ours == nil {
		kin.ours, kin.spared = map[int]bool{}, map[int]uint64{}
	}
	kin.ours[cmd.Process.Pid] = true
	return nil
}

// adopting reports whether what a server leaves behind becomes ours. Some sandboxes
// refuse it; then every child of ours is one that somebody here has started.
func adopting() bool {
	kin.mu.Lock()
	defer kin.mu.Unlock()
	return kin.reaper
}

// lostKin: a child that startKin started was reaped.
func lostKin(pid int) {
	kin.mu.Lock()
	defer kin.mu.Unlock()
	delete(kin.ours, pid)
}

// Beside runs a command that is not the server's, as its Run does. What it leaves
// running is let be when a server is swept; see [Options].Sweep.
func Beside(cmd *exec.Cmd) error {
	kin.mu.Lock()
	since, before := kin.reaper, map[int]bool{}
	if since {
		for _, p := range adoptedLocked(processes()) {
			before[p.pid] = true
		}
	}
	err := startLocked(cmd)
	kin.mu.Unlock()
	if err != nil {
		return err
	}
	err = cmd.Wait()
	kin.mu.Lock()
	defer kin.mu.Unlock()
	delete(kin.ours, cmd.Process.Pid)
	if !since { // what it has left before we adopted anybody is not ours
		return err
	}
	for _, p := range adoptedLocked(processes()) {
		if !before[p.pid] {
			kin.spared[p.pid] = p.began
		}
	}
	return err
}

// processes reads all there are.
func processes() (all []relative) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if p, ok := processAt(name); ok {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b relative) int { return a.pid - b.pid })
	return all
}

// processAt reads /proc/PID/stat: behind the name of the program in parentheses
// stand the state, the parent, the group and, as the 22nd of all fields, the beginning.
func processAt(name string) (p relative, ok bool) {
	stat, err := os.ReadFile("/proc/" + name + "/stat")
	if err != nil {
		return p, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return p, false
	}
	p.pid, _ = strconv.Atoi(name)
	p.parent, _ = strconv.Atoi(string(fields[1]))
	p.group, _ = strconv.Atoi(string(fields[2]))
	p.began, err = strconv.ParseUint(string(fields[19]), 10, 64)
	p.ended = fields[0][0] == 'Z' || fields[0][0] == 'X'
	return p, err == nil
}

// adoptedLocked are our children that we have not started and do not spare.
func adoptedLocked(all []relative) (adopted []relative) {
	me := os.Getpid()
	for _, p := range all {
		if began, spared := kin.spared[p.pid]; p.parent != me || kin.ours[p.pid] || spared && began == p.began {
			continue
		}
		adopted = append(adopted, p)
	}
	return adopted
}

// oneEnded reports whether a child of ours has ended and is not reaped. It asks the
// kernel, which is cheaper than to read of every process there is.
func oneEnded() bool {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil && info.Signo != 0
		}
	}
}

// reapAdopted takes leave of children that have ended and that nobody waits for.
func reapAdopted() {
	kin.mu.Lock()
	defer kin.mu.Unlock()
	if !kin.reaper || !oneEnded() {
		return
	}
	for _, p := range processes() {
		if p.parent != os.Getpid() || !p.ended || kin.ours[p.pid] {
			continue
		}
		if done, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil); err == nil && done == p.pid {
			delete(kin.spared, p.pid)
		}
	}
}

// descendants are the processes that descend from the given ones, these included, as
// far as they have not ended.
func descendants(all, roots []relative) []relative {
	in := map[int]bool{}
	for _, p := range roots {
		in[p.pid] = true
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.pid] && in[p.parent] {
				in[p.pid], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p relative) bool { return !in[p.pid] || p.ended })
}

// signal sends a signal to this very process, not to one that has its number since.
func (p relative) signal(s syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := processAt(strconv.Itoa(p.pid)); ok && now.began == p.began {
		unix.PidfdSendSignal(fd, s, nil, 0)
	}
}

// signalAdopted sends a signal to all that servers have left behind, and returns
// who got it.
func signalAdopted(s syscall.Signal) []relative {
	kin.mu.Lock()
	defer kin.mu.Unlock()
	if !kin.reaper {
		return nil
	}
	all := processes()
	left := descendants(all, adoptedLocked(all))
	for _, p := range left {
		p.signal(s)
	}
	return left
}

// signalFled sends a signal to the descendants of the server that have left its
// group, while it is there.
func (c *child) signalFled(s syscall.Signal) {
	if !c.s.o.Sweep || c.pid == 0 {
		return
	}
	all := processes()
	for _, p := range descendants(all, []relative{{pid: c.pid}}) {
		if group, err := syscall.Getpgid(p.pid); err == nil && group != c.pid {
			p.signal(s)
		}
	}
	signalAdopted(s)
}

// askGroup has what a server that has ended left in its group go by itself, before the
// group is killed. The group is asked once.
func (c *child) askGroup() {
	late := time.Now().Add(min(sweepWait, c.s.o.Stop.Term))
	for left := inGroup(c.pid); len(left) > 0 && time.Now().Before(late); left = inGroup(c.pid) {
		c.group.terminate()
		left[0].await(20 * time.Millisecond)
	}
}

// inGroup are those of a process group that have not ended.
func inGroup(leader int) []relative {
	return slices.DeleteFunc(processes(), func(p relative) bool { return p.group != leader || p.ended })
}

// sweepWait is how long what a server has left behind has after a TERM.
const sweepWait = 500 * time.Millisecond

// reapUntilGone reaps, until the process is gone, children that it has left to us.
func (c *child) reapUntilGone() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		reapAdopted()
		select {
		case <-ended:
		case <-c.gone:
			return
		}
	}
}

// sweep ends what the server has left running, and returns who that was.
func (c *child) sweep() []int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	swept := map[int]bool{}
	term, enough := time.After(min(sweepWait, c.s.o.Stop.Term)), time.After(unkillable)
	for how := syscall.SIGTERM; ; {
		left := signalAdopted(how)
		if len(left) == 0 {
			reapAdopted()
			return slices.Sorted(maps.Keys(swept))
		}
		for _, p := range left {
			if group, err := syscall.Getpgid(p.pid); err == nil && group != c.pid { // those in it were killed with the leader
				swept[p.pid] = true
			}
		}
		for waits := true; waits; {
			select {
			case <-ended: // of one the children are ours now
				reapAdopted()
				waits = how == syscall.SIGTERM && len(signalAdopted(0)) > 0
			case <-term:
				how, waits = syscall.SIGKILL, false
			case <-enough:
				c.s.log.Error("what the server started cannot be killed", "pids", slices.Sorted(maps.Keys(swept)))
				return slices.Sorted(maps.Keys(swept))
			}
		}
	}
}
