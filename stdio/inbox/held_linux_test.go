package inbox_test

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// Who splices into a pipe holds its lock until there is something to splice, and
// a read waits for the lock whatever the descriptor's mode. That is one thread's
// affair, not the whole program's.
func TestWhoHoldsAPipeDoesNotStopTheProgram(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	dry, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dry[0])
	defer unix.Close(dry[1])
	unix.SetsockoptTimeval(dry[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5}) // so that a program that stopped goes on to say so

	var let atomic.Bool
	spliced := stdiotest.InCall(t, unix.SYS_SPLICE, func() {
		unix.Splice(dry[0], nil, int(w.Fd()), nil, 1, 0)
		let.Store(true)
	})
	in, buf := inbox.New(r), make([]byte, 8)
	read := stdiotest.InCall(t, unix.SYS_READ, func() { in.Read(buf) })
	runtime.GC() // needs everybody for a moment
	if let.Load() {
		t.Fatal("the program stood still for as long as somebody held the pipe")
	}
	unix.Write(dry[1], []byte("x"))
	<-spliced
	<-read
	if buf[0] != 'x' {
		t.Errorf("%q was read", buf)
	}
}
