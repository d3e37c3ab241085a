//go:build !linux

package stdio

import (
	"log/slog"
	"os/exec"
	"syscall"
	"time"
)

// Sweeping needs Linux. Elsewhere a process that left its group goes on running; on
// Windows none can (see group).

func startChild(cmd *exec.Cmd) error { return cmd.Start() }

func childReaped(int) {}

func adopts() bool { return false }

// Beside runs a command that is not the server's, as its Run does.
func Beside(cmd *exec.Cmd) error { return cmd.Run() }

func askGroup(int, func(), time.Duration) {}

func signalDescendants(int, syscall.Signal) {}

func reapUntilGone(<-chan struct{}) {}

func sweep(int, time.Duration, *slog.Logger) []int { return nil }
