//go:build unix

package main

import "syscall"

// killGroup ends a server, which leads a process group of its own, and all it
// started.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
