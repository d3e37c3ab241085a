package linger

import (
	"io"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ear returns a function that waits, awake, until there is something to read from
// r or r has ended, and reports whether that came in time; once r is closed it
// reports false at once. One goroutine at a time may call it. It is nil where r itself is
// neither pipe nor socket (a *tls.Conn is not: what its socket has may be no word
// yet), for others may take their time to say whether they are
// ready.
//
// The function does not tell Go's scheduler of its system calls: none of them
// waits, not even for a pipe whose lock the other end holds, and telling would wake a
// thread of the runtime; see package inbox.
func Ear(r io.Reader) func(within time.Duration) bool {
	c, ok := r.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	var fits bool
	if raw.Control(func(fd uintptr) { fits = isPipeOrSocket(fd) }); !fits {
		return nil
	}
	var until time.Time
	var heard bool
	listen := func(fd uintptr) {
		for heard = ready(fd); !heard && time.Now().Before(until); {
			heard = ready(fd)
		}
	}
	return func(within time.Duration) bool {
		until, heard = time.Now().Add(within), false
		return raw.Control(listen) == nil && heard
	}
}

// ready is poll(2) that does not wait.
func ready(fd uintptr) bool {
	p, none := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}, unix.Timespec{}
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&none)), 0, 0, 0)
	return errno == 0 && n > 0
}

// isPipeOrSocket is as in package stdio, which builds where this does not.
func isPipeOrSocket(fd uintptr) bool {
	var info unix.Stat_t
	if unix.Fstat(int(fd), &info) != nil {
		return false
	}
	kind := info.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK
}
