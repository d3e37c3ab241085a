package audit

import (
	"os"

	"golang.org/x/sys/unix"
)

// uncache lets go of the memory in which the kernel keeps the first size bytes
// of f, which should be on the disk: what is not stays, as does the last page
// unless it is full. As a rule nobody reads them soon, and the lines that follow
// get the same pages instead of ones that were never touched: in a virtual
// machine the host has to find each of those first, which takes longer than all
// else that a write does.
func uncache(f *os.File, size int64) {
	page := int64(os.Getpagesize())
	if whole := size / page * page; whole > 0 { // 0 would be all there is, also what is not on the disk yet
		unix.Fadvise(int(f.Fd()), 0, whole, unix.FADV_DONTNEED) // a hint: that it is not taken harms nobody
	}
}
