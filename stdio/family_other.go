//go:build !linux

package stdio

import (
	"os/exec"
	"syscall"
)

// Sweeping needs Linux. Elsewhere a process that fled its group is let be; on
// Windows none can (see group).

func startKin(cmd *exec.Cmd) error { return cmd.Start() }

func lostKin(int) {}

func adopting() bool { return false }

// Beside runs a command that is not the server's, as its Run does.
func Beside(cmd *exec.Cmd) error { return cmd.Run() }

func (c *child) askGroup() {}

func (c *child) signalFled(syscall.Signal) {}

func (c *child) reapUntilGone() {}

func (c *child) sweep() []int { return nil }
