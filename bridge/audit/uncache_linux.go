package audit

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// uncache lets go of the memory in which the kernel keeps f between two offsets,
// as far as those are whole pages, and returns where the pages end. What is not on
// the disk stays. As a rule nobody reads those lines soon, and the ones that follow
// get the same pages instead of ones that were never touched: in a virtual
// machine the host has to find each of those first, which takes longer than all
// else that a write does.
func uncache(f private.File, from, to int64) int64 {
	to -= to % int64(os.Getpagesize())
	if raw, err := f.SyscallConn(); err == nil && to > from { // a length of 0 would be all there is
		raw.Control(func(fd uintptr) { unix.Fadvise(int(fd), from, to-from, unix.FADV_DONTNEED) }) // a hint: that it is not taken harms nobody
	}
	return to
}
