package stdio

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

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

// To linger reads nothing and keeps nobody from reading.
func TestLingerLeavesTheAnswerWhereItIs(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	s.server.Linger() // no server is up
	s.up()
	up := s.server.child.Load()
	up.linger.mu.Lock()
	listening := up.linger.speaks != nil
	up.linger.mu.Unlock()
	if listening != (runtime.NumCPU() > 1) {
		t.Errorf("listened to: %v, on %d processors", listening, runtime.NumCPU())
	}
	for range 20 {
		id := s.tool("echo", "{}")
		s.server.Linger()
		s.answer(id)
	}
	if up.linger.asked.Load() {
		t.Error("nobody has lingered")
	}
}

// A server that splices into its stdout holds the pipe's lock for as long as it
// likes. To ask whether there is something to read must not wait for that: the
// scheduler is not told, so that the whole program would stand still.
func TestWhoHoldsItsStdoutStopsNobodyWhoLingers(t *testing.T) {
	r, w := pipe(t)
	hear := ear(r)
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
	var l linger
	listen, times := ear(r), 0
	l.speaks = func(within time.Duration) bool { times++; return listen(within) }
	listens := func(calls int) int {
		before := times
		for range calls {
			l.asked.Store(true)
			l.wait()
		}
		return times - before
	}

	if l.wait(); times > 0 {
		t.Error("waited though nothing had been asked")
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
	if ear(file) != nil {
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
		hear := ear(line.in)
		if hear(time.Microsecond) {
			t.Errorf("%s: heard before anything was said", name)
		}
		time.AfterFunc(time.Millisecond, func() { line.out.Write([]byte("x")) })
		if !hear(patience) {
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

// A server that holds the pipe makes its close(2) wait, which would be left to
// whoever still listens: the reader of the topic.
func TestWhoListensIsNotLeftTheClosing(t *testing.T) {
	r, w := pipe(t)
	var c child
	c.ours.stdout = r
	hear, listens := ear(r), make(chan struct{})
	c.linger.speaks = func(time.Duration) bool {
		close(listens)
		return hear(100 * time.Millisecond)
	}
	held, release := stdiotest.HoldPipe(t, w)

	killed := make(chan struct{})
	go func() {
		<-listens
		c.kill()
		close(killed)
	}()
	c.linger.asked.Store(true)
	c.linger.wait()
	if !held() {
		t.Error("closing was left to who listened")
	}
	release()
	<-killed
	c.linger.asked.Store(true)
	c.linger.wait() // would panic if it listened
}
