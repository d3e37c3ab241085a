package outbox_test

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// Who splices out of a pipe holds its lock until what it splices to takes more, and
// a write waits for the lock whatever the descriptor's mode. That is one thread's
// affair, not the whole program's.
func TestWhoHoldsAPipeDoesNotStopTheProgram(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	full, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(full[0])
	defer unix.Close(full[1])
	for err == nil {
		_, err = unix.SendmsgN(full[0], make([]byte, 4096), nil, nil, unix.MSG_DONTWAIT)
	}
	unix.SetsockoptTimeval(full[0], unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 5}) // so that a program that stopped goes on to say so

	b := outbox.New(w, outbox.Options{Own: true})
	mustPut(t, b, []byte("first"))
	b.Flush()
	mustPut(t, b, []byte("second"))
	var let atomic.Bool
	from := int(r.Fd())
	spliced := thread(t, unix.SYS_SPLICE, func() {
		unix.Splice(from, nil, full[0], nil, len("first"), 0)
		let.Store(true)
	})
	flushed := thread(t, unix.SYS_WRITE, b.Flush)
	runtime.GC() // needs everybody for a moment
	if let.Load() {
		t.Fatal("the program stood still for as long as somebody held the pipe")
	}
	unix.Shutdown(full[1], unix.SHUT_RDWR)
	<-spliced
	<-flushed
	mustClose(t, b)
	w.Close()
	if got, err := io.ReadAll(r); !strings.HasSuffix(string(got), "second") || err != nil {
		t.Errorf("%q was written, %v", got, err)
	}
}

// thread runs f on a thread of its own, and returns once that is in the system call
// with this number.
func thread(t *testing.T, call int, f func()) (done chan struct{}) {
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
