package stdiotest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
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

// InCall runs f on a thread of its own, and returns once that is in the system call
// with this number.
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
