package outbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// writeNow is write(2) without telling Go's scheduler; package inbox says what for.
// The descriptor must be a socket in non-blocking mode.
func writeNow(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
