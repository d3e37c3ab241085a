package outbox_test

import (
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
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
	spliced := stdiotest.InCall(t, unix.SYS_SPLICE, func() {
		unix.Splice(from, nil, full[0], nil, len("first"), 0)
		let.Store(true)
	})
	flushed := stdiotest.InCall(t, unix.SYS_WRITE, b.Flush)
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
