package stdio

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes: a group of its own, and an end when we end without a chance to
// stop it. The latter is tied to the thread that starts it; see superviseProcess.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitEnd waits until the process has ended, without reaping it. It reports
// whether it could.
//
// It waits where Go's scheduler sees it. In waitid(2) this thread would keep the right
// to run Go code until the runtime notices, and as it begins to wait while everybody
// else waits for the server to speak, that takes up to ten milliseconds of each start.
func awaitEnd(pid int) bool {
	if awaitEndIdly(pid) {
		return true
	}
	_, err := hasEnded(unix.P_PID, pid, 0)
	return err == nil
}

// awaitEndIdly is awaitEnd where there are pidfds that can be waited for (Linux 5.10).
func awaitEndIdly(pid int) bool {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var ended bool
	var failed error
	err = raw.Read(func(uintptr) bool {
		ended, failed = hasEnded(unix.P_PID, pid, unix.WNOHANG)
		return ended || failed != nil
	})
	return err == nil && ended
}

// hasEnded asks whether a child of ours, or any of them (unix.P_ALL), has ended, without
// reaping it; without unix.WNOHANG among the options it waits until that is so.
func hasEnded(which, pid, options int) (bool, error) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(which, pid, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		if err != unix.EINTR {
			return info.Signo != 0, err
		}
	}
}

// widen makes room for large messages in a pipe. Where the system refuses
// that, they only take more turns.
func widen(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}

// holders lists the other processes that have one of the pipes open. What is no
// pipe of ours is passed over.
func holders(ends ...io.Reader) []int {
	var names []string
	for _, end := range ends {
		f, ok := end.(*os.File)
		if !ok {
			continue
		}
		if info, err := f.Stat(); err == nil {
			names = append(names, fmt.Sprintf("pipe:[%d]", info.Sys().(*syscall.Stat_t).Ino))
		}
	}
	var pids []int
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, path := range open {
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		if name, err := os.Readlink(path); err == nil && pid != os.Getpid() && slices.Contains(names, name) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}
