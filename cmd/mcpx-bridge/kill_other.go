//go:build !unix

package main

import "os"

// killGroup ends a server. What it started ends with the job it is in.
func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
