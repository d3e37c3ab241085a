package private

import (
	"errors"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SyncAside is f.Sync for a file with much to write.
//
// An ordinary sync keeps the thread that calls it for as long as the disk takes, and with
// it the right to run Go code, until the runtime notices, some milliseconds later: in a
// program that runs its code on one thread at a time, as ours does, every call under way
// waits for the disk. So the kernel is asked to sync aside (io_submit(2)) and to say in an
// eventfd when it has. Where it does not do that, and for a File that is no *os.File, the
// sync is an ordinary one.
func SyncAside(f File) error {
	of, ok := f.(*os.File)
	if !ok {
		return f.Sync()
	}
	s, err := aside.take()
	if err != nil {
		return f.Sync()
	}
	if err := s.submit(of); err != nil { // not every file system can
		aside.give(s)
		return f.Sync()
	}
	err, usable := s.wait()
	if usable {
		aside.give(s)
	}
	if err != nil {
		return &os.PathError{Op: "sync", Path: f.Name(), Err: err}
	}
	return nil
}

var aside syncers

// syncers are those that nobody uses at the moment. They are kept, as giving one back to
// the kernel takes longer than a sync.
type syncers struct {
	mu      sync.Mutex
	idle    []*syncer
	refused error // the kernel makes none
}

func (a *syncers) take() (*syncer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.idle); n > 0 {
		s := a.idle[n-1]
		a.idle = a.idle[:n-1]
		return s, nil
	}
	if a.refused != nil {
		return nil, a.refused
	}
	s, err := newSyncer()
	a.refused = err
	return s, err
}

func (a *syncers) give(s *syncer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.idle = append(a.idle, s)
}

// A syncer syncs one file at a time, so that a disk that hangs holds up nobody else's.
type syncer struct {
	context uintptr  // of io_setup(2)
	done    *os.File // an eventfd
}

func newSyncer() (*syncer, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	s := &syncer{done: os.NewFile(uintptr(fd), "eventfd")}
	if _, _, e := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&s.context)), 0); e != 0 {
		return nil, errors.Join(e, s.done.Close())
	}
	return s, nil
}

// An iocb is the kernel's struct iocb (linux/aio_abi.h). What a sync does not need is 0.
type iocb struct {
	_       [2]uint64
	opcode  uint16
	_       int16
	fd      uint32
	_       [4]uint64
	with    uint32 // IOCB_FLAG_RESFD
	eventfd uint32
}

const (
	iocbFsync = 2 // IOCB_CMD_FSYNC
	iocbResFD = 1 // IOCB_FLAG_RESFD
)

func (s *syncer) submit(f *os.File) error {
	file, err := f.SyscallConn()
	if err != nil {
		return err
	}
	done, err := s.done.SyscallConn()
	if err != nil {
		return err
	}
	cb := iocb{opcode: iocbFsync, with: iocbResFD}
	list := [1]*iocb{&cb}
	var taken uintptr
	var failed unix.Errno
	err = done.Control(func(fd uintptr) { cb.eventfd = uint32(fd) })
	err = errors.Join(err, file.Control(func(fd uintptr) {
		cb.fd = uint32(fd)
		taken, _, failed = unix.Syscall(unix.SYS_IO_SUBMIT, s.context, 1, uintptr(unsafe.Pointer(&list)))
	}))
	switch {
	case err != nil:
		return err
	case failed != 0:
		return failed
	case taken != 1:
		return unix.EAGAIN
	}
	return nil
}

// wait returns what became of the sync, and whether s can be used again: not if that is
// not known.
func (s *syncer) wait() (err error, usable bool) {
	var count [8]byte
	if _, err := s.done.Read(count[:]); err != nil {
		return err, false
	}
	var event struct { // struct io_event
		_   [2]uint64
		res int64
		_   int64
	}
	n, _, failed := unix.Syscall6(unix.SYS_IO_GETEVENTS, s.context, 1, 1, uintptr(unsafe.Pointer(&event)), 0, 0)
	switch {
	case failed != 0:
		return failed, false
	case n != 1:
		return unix.EIO, false
	case event.res < 0:
		return unix.Errno(-event.res), true
	}
	return nil, true
}
