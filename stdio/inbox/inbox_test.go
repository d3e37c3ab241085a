package inbox_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/inbox"
)

// way is one connection, from who writes to who reads.
type way struct {
	name string
	out  io.WriteCloser
	in   interface {
		io.ReadCloser
		SetReadDeadline(time.Time) error
	}
}

func ways(t *testing.T) []way {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	taken, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close(); dialed.Close(); taken.Close() })
	return []way{{"pipe", w, r}, {"socket", dialed, taken}}
}

func TestWhatIsWrittenIsReadToTheEnd(t *testing.T) {
	for _, w := range ways(t) {
		text := strings.Repeat("0123456789abcdef", 1<<16)
		go func() {
			io.Copy(w.out, dribble(text))
			w.out.Close()
		}()
		got, err := io.ReadAll(inbox.New(w.in))
		if err != nil || string(got) != text {
			t.Errorf("%s: %d bytes of %d, %v", w.name, len(got), len(text), err)
		}
	}
}

// dribble reads text in pieces of many sizes.
func dribble(text string) io.Reader {
	var parts []io.Reader
	for n := 1; len(text) > 0; n = n*3%70_001 + 1 {
		n := min(n, len(text))
		parts, text = append(parts, strings.NewReader(text[:n])), text[n:]
	}
	return io.MultiReader(parts...)
}

func TestADeadlineEndsTheWaitingAndTheNextReadGoesOn(t *testing.T) {
	for _, w := range ways(t) {
		in, buf := inbox.New(w.in), make([]byte, 8)
		w.in.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if n, err := in.Read(buf); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %d bytes, %v", w.name, n, err)
		}
		w.in.SetReadDeadline(time.Time{})
		w.out.Write([]byte("late"))
		if n, err := in.Read(buf); string(buf[:n]) != "late" || err != nil {
			t.Errorf("%s: %q, %v", w.name, buf[:n], err)
		}
	}
}

func TestACloseEndsTheWaiting(t *testing.T) {
	for _, w := range ways(t) {
		in, waiting, done := inbox.New(w.in), make(chan struct{}), make(chan error)
		go func() {
			buf := make([]byte, 8)
			in.Read(buf)
			close(waiting)
			_, err := in.Read(buf)
			done <- err
		}()
		w.out.Write([]byte("x"))
		<-waiting
		w.in.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", w.name, err)
		}
	}
}

func TestAResetIsAnError(t *testing.T) {
	for _, w := range ways(t) {
		peer, ok := w.out.(*net.TCPConn)
		if !ok {
			continue
		}
		peer.SetLinger(0)
		peer.Close()
		if _, err := inbox.New(w.in).Read(make([]byte, 8)); !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
	}
}

// What could make a thread wait is read as usual.
func TestPipesAndBlockingSocketsAreLeftAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes")
	}
	for _, w := range ways(t) {
		f, ok := w.in.(*os.File)
		if !ok {
			copied, err := w.in.(*net.TCPConn).File()
			if err != nil {
				t.Fatal(err)
			}
			defer copied.Close()
			copied.Fd() // makes it blocking
			f = copied
		}
		if in := inbox.New(f); in != io.Reader(f) {
			t.Errorf("a %s is read by a %T", w.name, in)
		}
	}
	in := bytes.NewReader(nil)
	if inbox.New(in) != io.Reader(in) {
		t.Error("what has no descriptor is read by something else")
	}
}

func TestAReadAllocatesNothing(t *testing.T) {
	for _, w := range ways(t) {
		in, buf, x := inbox.New(w.in), make([]byte, 8), []byte("x")
		if n := testing.AllocsPerRun(100, func() { w.out.Write(x); in.Read(buf) }); n != 0 {
			t.Errorf("%s: %v allocations", w.name, n)
		}
	}
}
