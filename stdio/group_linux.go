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
// stop it. The latter is tied to the thread that starts it; see shepherd.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitEnd waits until the process has ended, without reaping it. It reports
// whether it could.
func awaitEnd(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
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
