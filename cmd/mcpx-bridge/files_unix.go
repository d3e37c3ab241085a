//go:build unix

package main

import (
	"syscall"
)

// fileLimit is how many files this process may have open, 0 if that is not known.
func fileLimit() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur)
}
