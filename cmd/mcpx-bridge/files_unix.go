//go:build unix

package main

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fileLimit is how many files this process may have open, 0 if that is not known.
func fileLimit() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur)
}

// changedAt is when a file or what is known of it was last changed. Other than the time
// of its contents nobody sets that back.
func changedAt(path string) time.Time {
	var s unix.Stat_t
	if unix.Stat(path, &s) != nil {
		return time.Time{}
	}
	return time.Unix(s.Ctim.Unix())
}
