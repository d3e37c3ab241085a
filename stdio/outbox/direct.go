//go:build linux || darwin

package outbox

import (
	"bytes"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// A direct writes to a descriptor without waiting until it takes more. Whoever has
// Outbox.writing may use it, so the runtime's own lock on the descriptor is free.
type direct struct {
	raw    syscall.RawConn
	own    bool                  // nobody else can change its mode
	ready  bool                  // it does not block, and is ours
	socket bool                  // it is one, and ours: package inbox says why a pipe is another matter
	once   func(fd uintptr) bool // d.writeOnce, bound once so that a write allocates nothing
	pieces [maxPieces][]byte

	text [][]byte // what writeOnce is to write
	n    int      // and how it went
	err  error
}

// maxPieces is how many stretches one system call writes.
const maxPieces = 16

// newDirect returns nil if w has no descriptor.
func newDirect(w io.Writer, own bool) *direct {
	c, ok := w.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{raw: raw, own: own}
	raw.Control(func(fd uintptr) { d.socket = own && isSocket(fd) })
	d.once = d.writeOnce
	return d
}

// write writes what the descriptor takes of pieces at this moment, which may be
// nothing.
func (d *direct) write(pieces [][]byte) (int, error) {
	d.text, d.n, d.err = pieces, 0, nil
	err := d.raw.Write(d.once)
	clear(pieces)
	if err == nil {
		err = d.err
	}
	return d.n, err
}

// writeOnce always reports true: false would make the runtime wait until the
// descriptor is writable.
func (d *direct) writeOnce(fd uintptr) bool {
	if !d.ready {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		if err != nil || flags&unix.O_NONBLOCK == 0 {
			return true
		}
		d.ready = d.own // else whoever shares the descriptor can change that at any time
	}
	n, err := d.writev(int(fd))
	for err == unix.EINTR {
		n, err = d.writev(int(fd))
	}
	if err == nil {
		d.n = n
	} else if err != unix.EAGAIN {
		d.err = err
	}
	return true
}

func isSocket(fd uintptr) bool {
	var info unix.Stat_t
	return unix.Fstat(int(fd), &info) == nil && info.Mode&unix.S_IFMT == unix.S_IFSOCK
}

// briefly is the most bytes that are written without telling Go's scheduler: it
// takes so little time that nothing else need run meanwhile.
const briefly = 64 << 10

func (d *direct) writev(fd int) (int, error) {
	if underRace {
		tellDetector(d.text)
	}
	switch {
	case len(d.text) > 1:
		return unix.Writev(fd, d.text)
	case d.socket && len(d.text[0]) <= briefly:
		return writeNow(fd, d.text[0])
	}
	return unix.Write(fd, d.text[0])
}

// tellDetector tells the race detector that pieces are read, and that what was done until
// now comes before what others do once they have read them. It does that by a write of
// package syscall that goes nowhere: it knows of those, but neither of writeNow nor of
// package unix.
func tellDetector(pieces [][]byte) {
	for _, p := range pieces {
		bytes.Clone(p)
	}
	syscall.Write(-1, nil)
}
