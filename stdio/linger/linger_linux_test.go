package linger_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/linger"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// A server that splices into its stdout holds the pipe's lock for as long as it
// likes. To ask whether there is something to read must not wait for that: the
// scheduler is not told, so that the whole program would stand still.
func TestWhoHoldsItsStdoutStopsNobodyWhoLingers(t *testing.T) {
	r, w := pipe(t)
	hear := linger.Ear(r)
	held, release := stdiotest.HoldPipe(t, w)
	if hear(time.Microsecond) || !held() {
		t.Error("to ask took as long as somebody held the pipe")
	}
	release()
	if !hear(time.Microsecond) {
		t.Error("not heard when it was let go of")
	}
}

// Whoever waits awake for a server that takes its time burns a processor for
// nothing: it is tried again ever more rarely, until it has been quick.
func TestOnlyAQuickServerIsWaitedForAwake(t *testing.T) {
	r, w := pipe(t)
	listen, times := linger.Ear(r), 0
	l := linger.New(func(within time.Duration) bool { times++; return listen(within) })
	listens := func(calls int) int {
		before := times
		for range calls {
			l.Wait()
		}
		return times - before
	}

	if n := listens(1023); n != 10 {
		t.Errorf("1023 calls of a slow server were waited for %d times, not 10", n)
	}
	if n := listens(10 * 1024); n != 10 {
		t.Errorf("of 10240 more %d, not 10", n)
	}
	w.Write([]byte("x"))
	if n := listens(1024 + 5); n != 1+5 {
		t.Errorf("when it had become quick %d, not 6", n)
	}
}

func TestWhoCanBeHeard(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if linger.Ear(file) != nil {
		t.Error("a file is listened to")
	}

	r, w := pipe(t)
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	taken, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, line := range map[string]struct {
		in  io.ReadCloser
		out io.WriteCloser
	}{"pipe": {r, w}, "socket": {taken, dialed}} {
		hear := linger.Ear(line.in)
		if hear(time.Microsecond) {
			t.Errorf("%s: heard before anything was said", name)
		}
		time.AfterFunc(time.Millisecond, func() { line.out.Write([]byte("x")) })
		if !hear(10 * time.Second) {
			t.Errorf("%s: not heard while it was waited for", name)
		}
		if !hear(time.Microsecond) {
			t.Errorf("%s: not heard though it was there already", name)
		}
		line.in.Read(make([]byte, 1))
		if hear(time.Microsecond) {
			t.Errorf("%s: heard though it was read", name)
		}
		line.out.Close()
		if !hear(time.Microsecond) {
			t.Errorf("%s: its end was not heard", name)
		}
		line.in.Close()
		if hear(time.Microsecond) {
			t.Errorf("%s: heard though we hang up", name)
		}
	}
}
