package inbox_test

import (
	"os"
	"runtime"
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
	t.Cleanup(func() { r.Close(); w.Close() })
	held, release := stdiotest.HoldPipe(t, w)
	in, buf := inbox.New(r), make([]byte, 8)
	read := stdiotest.InCall(t, unix.SYS_READ, func() { in.Read(buf) })
	runtime.GC() // needs everybody for a moment
	if !held() {
		t.Fatal("the program stood still for as long as somebody held the pipe")
	}
	release()
	<-read
	if buf[0] != 'x' {
		t.Errorf("%q was read", buf)
	}
}
