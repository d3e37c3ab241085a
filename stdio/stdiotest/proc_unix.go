//go:build unix

package stdiotest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Alive reports whether a process is there and has not ended. One that only
// waits to be reaped has ended.
func Alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) || !hasProc()
	}
	state := bytes.TrimLeft(stat[bytes.LastIndexByte(stat, ')')+1:], " ")
	return len(state) > 0 && state[0] != 'Z' && state[0] != 'X'
}

func hasProc() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }

func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// nonblocking lists which of our three descriptors came non-blocking.
func nonblocking() []int {
	list := []int{}
	for fd := range 3 {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil && flags&unix.O_NONBLOCK != 0 {
			list = append(list, fd)
		}
	}
	return list
}
