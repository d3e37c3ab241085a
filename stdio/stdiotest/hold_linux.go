package stdiotest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// holdStdin moves what comes next on stdin to where nobody takes it. Meanwhile the
// kernel holds the pipe's lock, for which whoever writes into it waits.
func holdStdin() {
	full, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	for err == nil {
		_, err = unix.SendmsgN(full[0], make([]byte, 4096), nil, nil, unix.MSG_DONTWAIT)
	}
	unix.Splice(0, nil, full[0], nil, 1<<20, 0)
}

// holdLimit is how long a pipe is held, so that a program that stands still over it
// goes on to say so.
const holdLimit = 5 * time.Second

// HoldPipe keeps the lock of the pipe behind w: a thread splices into it from a
// socket on which nothing comes. release sends one byte, x, which ends that, and
// returns when it is in the pipe. After holdLimit it ends by itself.
func HoldPipe(t *testing.T, w *os.File) (held func() bool, release func()) {
	t.Helper()
	dry, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(dry[1]) }) // ends a splice that is under way
	unix.SetsockoptTimeval(dry[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(holdLimit / time.Second)})
	began := time.Now()
	var over atomic.Bool
	spliced := InCall(t, unix.SYS_SPLICE, func() {
		unix.Splice(dry[0], nil, int(w.Fd()), nil, 1, 0)
		over.Store(true)
		unix.Close(dry[0])
	})
	// Whoever waited for the lock may ask before the thread that had it has said that
	// it is over: then the clock tells.
	return func() bool { return !over.Load() && time.Since(began) < holdLimit }, func() {
		unix.Write(dry[1], []byte("x"))
		<-spliced
	}
}

// InCall runs f on a thread of its own, and returns once the thread is in the system
// call with this number. done is closed when f has returned.
func InCall(t *testing.T, call int, f func()) (done chan struct{}) {
	t.Helper()
	id, done := make(chan int), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		id <- unix.Gettid()
		f()
		close(done)
	}()
	path := fmt.Sprintf("/proc/self/task/%d/syscall", <-id)
	for late := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		at, err := os.ReadFile(path)
		switch {
		case err != nil:
			t.Skip(err)
		case strings.HasPrefix(string(at), fmt.Sprint(call, " ")):
			return done
		case time.Now().After(late):
			t.Fatalf("the thread is in %s", at)
		}
	}
}
