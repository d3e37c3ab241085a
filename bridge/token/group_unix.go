//go:build unix

package token

import (
	"os"
	"os/exec"
	"syscall"
)

// together gives a command a process group of its own: what it started is killed with it. One
// at a terminal stays in our group, for from another it could ask for no password there.
func together(cmd *exec.Cmd) {
	if terminal, err := os.Open("/dev/tty"); err == nil {
		terminal.Close()
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
