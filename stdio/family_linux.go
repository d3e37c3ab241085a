package stdio

import (
	"bytes"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sweepWait is how long what a server has left behind has after a TERM.
const sweepWait = 500 * time.Millisecond

// What a server starts may leave its process group (setsid), and is nobody's child
// any more when the server ends. With [Options].Sweep such processes become ours:
// we are their subreaper, which the kernel has once per process. So they can be
// found, by whose children they are, and ended, and nobody else can be hit: a child
// keeps its number until we have reaped it.
//
// It ends with us. After a SIGKILL of ours the server itself goes (attributes), and
// what it left goes to init, which nobody short of a cgroup can keep it from. It is found
// by the next start, by the mark in its environment ([Marked]).

// children are the children of this process, as far as they are known.
var children = struct {
	mu     sync.Mutex
	reaper bool            // we are a subreaper
	ours   map[int]bool    // that we have started, and whoever did waits for
	spared map[int]uint64  // left running on purpose, with their start times in kernel ticks
	marks  map[string]bool // of servers that we have started ([MarkVar])
}{ours: map[int]bool{}, spared: map[int]uint64{}, marks: map[string]bool{}}

// A procEntry is one line of /proc.
type procEntry struct {
	pid, parent int
	group       int
	began       uint64
	ended       bool // and not reaped
}

// startChild starts a command so that its pid is known before anybody looks for
// children that nobody waits for.
func startChild(cmd *exec.Cmd) error {
	children.mu.Lock()
	defer children.mu.Unlock()
	children.reaper = children.reaper || unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
	for _, kv := range slices.Backward(cmd.Env) { // the last one counts: we may be within another bridge's family
		if mark, ok := strings.CutPrefix(kv, MarkVar+"="); ok {
			children.marks[mark] = true
			break
		}
	}
	return startLocked(cmd)
}

// startLocked starts a command that whoever calls it waits for.
func startLocked(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	children.ours[cmd.Process.Pid] = true
	return nil
}

// adopts reports whether what a server leaves behind becomes ours. Some sandboxes
// refuse it; then every child of ours is one that somebody here has started.
func adopts() bool {
	children.mu.Lock()
	defer children.mu.Unlock()
	return children.reaper
}

// childReaped notes that a child which startChild started was reaped.
func childReaped(pid int) {
	children.mu.Lock()
	defer children.mu.Unlock()
	delete(children.ours, pid)
}

// Beside runs a command that is not the server's, as its Run does. What it leaves
// running is not ended when a server is swept; see [Options].Sweep. What bears the
// mark of a server is: that left it while the command ran.
func Beside(cmd *exec.Cmd) error {
	children.mu.Lock()
	since, before := children.reaper, map[int]bool{}
	if since {
		for _, p := range adoptedLocked(processes()) {
			before[p.pid] = true
		}
	}
	err := startLocked(cmd)
	children.mu.Unlock()
	if err != nil {
		return err
	}
	err = cmd.Wait()
	children.mu.Lock()
	defer children.mu.Unlock()
	delete(children.ours, cmd.Process.Pid)
	if !since { // what it has left before we adopted anybody is not ours
		return err
	}
	for _, p := range adoptedLocked(processes()) {
		if !before[p.pid] && !slices.ContainsFunc(p.marks(), func(mark string) bool { return children.marks[mark] }) {
			children.spared[p.pid] = p.began
		}
	}
	return err
}

// processes reads all there are.
func processes() (all []procEntry) {
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
	slices.SortFunc(all, func(a, b procEntry) int { return a.pid - b.pid })
	return all
}

// processAt reads /proc/PID/stat: behind the name of the program in parentheses
// stand the state, the parent, the group and, as the 22nd of all fields, the beginning.
func processAt(name string) (p procEntry, ok bool) {
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

// marks are those in the environment with which a process was started. One that has ended
// bears none.
func (p procEntry) marks() (all []string) {
	if p.ended {
		return nil
	}
	environ, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
	for one := range bytes.SplitSeq(environ, []byte{0}) {
		if mark, ok := bytes.CutPrefix(one, []byte(MarkVar+"=")); ok {
			all = append(all, string(mark))
		}
	}
	return all
}

// adoptedLocked are our children that we have not started and do not spare.
func adoptedLocked(all []procEntry) (adopted []procEntry) {
	me := os.Getpid()
	for _, p := range all {
		if began, spared := children.spared[p.pid]; p.parent != me || children.ours[p.pid] || spared && began == p.began {
			continue
		}
		adopted = append(adopted, p)
	}
	return adopted
}

// reapAdopted reaps children that have ended and that nobody else waits for.
func reapAdopted() {
	children.mu.Lock()
	defer children.mu.Unlock()
	if !children.reaper {
		return
	}
	if some, err := hasEnded(unix.P_ALL, 0, unix.WNOHANG); !some || err != nil { // cheaper than to read of every process there is
		return
	}
	for _, p := range processes() {
		if p.parent != os.Getpid() || !p.ended || children.ours[p.pid] {
			continue
		}
		if done, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil); err == nil && done == p.pid {
			delete(children.spared, p.pid)
		}
	}
}

// descendants are the processes that descend from the given ones, these included, as
// far as they have not ended.
func descendants(all, roots []procEntry) []procEntry {
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
	return slices.DeleteFunc(slices.Clone(all), func(p procEntry) bool { return !in[p.pid] || p.ended })
}

// signal sends a signal to this very process, not to one that has its number since.
func (p procEntry) signal(s syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := processAt(strconv.Itoa(p.pid)); ok && now.began == p.began {
		unix.PidfdSendSignal(fd, s, nil, 0)
	}
}

// await waits until a process has ended, which need be no child of ours, for so long at most.
func (p procEntry) await(most time.Duration) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(most.Milliseconds())+1)
}

// signalAdopted sends a signal to all that servers have left behind, and returns
// who got it.
func signalAdopted(s syscall.Signal) []procEntry {
	children.mu.Lock()
	defer children.mu.Unlock()
	if !children.reaper {
		return nil
	}
	all := processes()
	left := descendants(all, adoptedLocked(all))
	for _, p := range left {
		p.signal(s)
	}
	return left
}

// signalDescendants sends a signal to the descendants of a running server that have left
// its group, and to all that servers have left to us.
func signalDescendants(leader int, s syscall.Signal) {
	all := processes()
	for _, p := range descendants(all, []procEntry{{pid: leader}}) {
		if group, err := syscall.Getpgid(p.pid); err == nil && group != leader {
			p.signal(s)
		}
	}
	signalAdopted(s)
}

// askGroup gives the processes that a server left in its group, when it ended, the time to
// end by themselves: terminate sends them a TERM. It waits for within at most, and for
// sweepWait at most.
func askGroup(leader int, terminate func(), within time.Duration) {
	late := time.Now().Add(min(sweepWait, within))
	for left := inGroup(leader); len(left) > 0 && time.Now().Before(late); left = inGroup(leader) {
		terminate()
		left[0].await(20 * time.Millisecond)
	}
}

// inGroup are those of a process group that have not ended.
func inGroup(leader int) []procEntry {
	return slices.DeleteFunc(processes(), func(p procEntry) bool { return p.group != leader || p.ended })
}

// reapUntilGone reaps, until gone is closed, children that a server has left to us.
func reapUntilGone(gone <-chan struct{}) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		reapAdopted()
		select {
		case <-ended:
		case <-gone:
			return
		}
	}
}

// sweep ends what the server with this pid has left running outside its group, and returns
// the pids. Each process gets a TERM, and a KILL after term, or sweepWait if that is less.
func sweep(leader int, term time.Duration, log *slog.Logger) []int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	swept := map[int]bool{}
	tooLong, enough := time.After(min(sweepWait, term)), time.After(killWait)
	for how := syscall.SIGTERM; ; {
		left := signalAdopted(how)
		if len(left) == 0 {
			reapAdopted()
			return slices.Sorted(maps.Keys(swept))
		}
		for _, p := range left {
			if group, err := syscall.Getpgid(p.pid); err == nil && group != leader { // those in it were killed with the leader
				swept[p.pid] = true
			}
		}
		for waits := true; waits; {
			select {
			case <-ended: // of one the children are ours now
				reapAdopted()
				waits = how == syscall.SIGTERM && len(signalAdopted(0)) > 0
			case <-tooLong:
				how, waits = syscall.SIGKILL, false
			case <-enough:
				log.Error("what the server started cannot be killed", "pids", slices.Sorted(maps.Keys(swept)))
				return slices.Sorted(maps.Keys(swept))
			}
		}
	}
}
