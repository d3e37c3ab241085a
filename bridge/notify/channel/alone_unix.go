//go:build unix

package channel

import (
	"os/exec"
	"syscall"
)

var shell = [2]string{"/bin/sh", "-c"}

// alone gives a command a session of its own, without a terminal; what it started is killed
// with it.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
