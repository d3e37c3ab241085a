//go:build unix

package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// changedAt is when a file or what is known of it was last changed. Other than the time
// of its contents nobody sets that back.
func changedAt(path string) time.Time {
	var s unix.Stat_t
	if unix.Stat(path, &s) != nil {
		return time.Time{}
	}
	return time.Unix(s.Ctim.Unix())
}
