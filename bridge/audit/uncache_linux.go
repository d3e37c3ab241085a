package audit

import (
	"os"

	"golang.org/x/sys/unix"
)

// uncache lets go of the memory that the kernel keeps for the first so many
// bytes of f, which must be on the disk. Nobody reads them soon, and the lines
// that follow get the same pages instead of ones that were never touched: in a
// virtual machine the host has to find each of those first, which takes longer
// than all else that a write does.
func uncache(f *os.File, size int64) {
	page := int64(os.Getpagesize())
	unix.Fadvise(int(f.Fd()), 0, size/page*page, unix.FADV_DONTNEED) // a hint: that it is not taken harms nobody
}
