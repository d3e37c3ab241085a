package inbox

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// New returns a reader of what r reads: one that goes straight to r's descriptor if
// that is a socket in non-blocking mode, else r itself. The open file must be ours
// alone, for nobody may set its mode from then on.
//
// A Read fails as r's would: with [os.ErrDeadlineExceeded] at r's read deadline, with
// [net.ErrClosed] once r is closed, with io.EOF at the end. One goroutine at a time may
// read. r stays the caller's to close.
func New(r io.Reader) io.Reader {
	c, ok := r.(syscall.Conn)
	if !ok {
		return r
	}
	raw, err := c.SyscallConn()
	if err != nil || !neverWaits(raw) {
		return r
	}
	d := &direct{raw: raw}
	d.once = d.readOnce
	return d
}

func neverWaits(raw syscall.RawConn) (never bool) {
	err := raw.Control(func(fd uintptr) {
		var info unix.Stat_t
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		never = err == nil && flags&unix.O_NONBLOCK != 0 &&
			unix.Fstat(int(fd), &info) == nil && info.Mode&unix.S_IFMT == unix.S_IFSOCK
	})
	return err == nil && never
}

// A direct reads from a socket in non-blocking mode.
type direct struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool // d.readOnce, bound once so that a read allocates nothing

	into []byte // what readOnce is to fill
	n    int    // and how it went
	err  error
}

// Read implements io.Reader.
func (d *direct) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	d.into, d.n, d.err = p, 0, nil
	err := d.raw.Read(d.once)
	d.into = nil
	switch {
	case err != nil:
		return 0, err
	case d.err != nil:
		return 0, os.NewSyscallError("read", d.err)
	case d.n == 0:
		return 0, io.EOF
	}
	return d.n, nil
}

// readOnce reports whether there was an outcome: with false the runtime waits
// until there may be one.
func (d *direct) readOnce(fd uintptr) bool {
	n, err := readNow(fd, d.into)
	for err == unix.EINTR {
		n, err = readNow(fd, d.into)
	}
	if err == unix.EAGAIN {
		return false
	}
	d.n, d.err = n, err
	return true
}

// readNow is read(2) without telling Go's scheduler. p is not empty.
func readNow(fd uintptr, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	if underRace {
		tellDetector(fd, p[:n])
	}
	return int(n), nil
}

// tellDetector tells the race detector that p was written, and that whatever was
// written to anywhere before came first. It does that by a read of package syscall, which
// reads nothing.
func tellDetector(fd uintptr, p []byte) {
	copy(p, p)
	syscall.Read(int(fd), nil)
}
