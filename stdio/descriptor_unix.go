//go:build unix

package stdio

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openDescriptor duplicates a descriptor, and makes it non-blocking if it can be waited
// for. set reports whether that changed its mode.
func openDescriptor(number int) (f *os.File, waits, set bool, err error) {
	own, err := unix.FcntlInt(uintptr(number), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, false, false, fmt.Errorf("descriptor %d: %w", number, err)
	}
	waits = isPipeOrSocket(own)
	if flags, err := unix.FcntlInt(uintptr(own), unix.F_GETFL, 0); waits && err == nil && flags&unix.O_NONBLOCK == 0 {
		set = unix.SetNonblock(own, true) == nil
	}
	return os.NewFile(uintptr(own), "descriptor "+strconv.Itoa(number)), waits, set, nil
}

// carries reports whether a descriptor can carry messages.
func carries(number int) bool { return isPipeOrSocket(number) || kindOf(number) == unix.S_IFCHR }

func isPipeOrSocket(number int) bool {
	kind := kindOf(number)
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK
}

// kindOf is one of unix.S_IF…, 0 if there is no such descriptor.
func kindOf(number int) uint32 {
	var about unix.Stat_t
	if unix.Fstat(number, &about) != nil {
		return 0
	}
	return uint32(about.Mode) & unix.S_IFMT
}

// giveBack restores the mode and puts the null device in the place of what was
// taken over, so that the other end hears of the close and no file opened later
// gets a number that others take for our stdin or stdout.
func giveBack(number int, set bool) {
	if set {
		unix.SetNonblock(number, false)
	}
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		unix.Dup2(int(null.Fd()), number)
		null.Close()
	}
}
