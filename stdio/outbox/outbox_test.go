package outbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

func TestMain(m *testing.M) {
	watchdog.Start()
	goleak.VerifyTestMain(m)
}

// A link is a way from a writer to a reader.
type link struct {
	name string
	open func(t *testing.T) (w io.WriteCloser, r io.ReadCloser)
}

var links = []link{
	{"pipe", pipe},
	{"tcp", func(t *testing.T) (io.WriteCloser, io.ReadCloser) { return socket(t, "tcp", "127.0.0.1:0") }},
	{"plain writer", func(t *testing.T) (io.WriteCloser, io.ReadCloser) {
		r, w := io.Pipe() // neither a descriptor nor deadlines
		t.Cleanup(func() { w.Close(); r.Close() })
		return w, r
	}},
	{"deadlines only", func(t *testing.T) (io.WriteCloser, io.ReadCloser) {
		w, r := net.Pipe()
		t.Cleanup(func() { w.Close(); r.Close() })
		return w, r
	}},
}

func pipe(t *testing.T) (io.WriteCloser, io.ReadCloser) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); r.Close() })
	return w, r
}

func socket(t *testing.T, network, address string) (net.Conn, net.Conn) {
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w, err := net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); r.Close() })
	return w, r
}

func eachLink(t *testing.T, f func(t *testing.T, w io.WriteCloser, r io.ReadCloser)) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			w, r := l.open(t)
			f(t, w, r)
		})
	}
}

func mustPut(t *testing.T, b *outbox.Outbox, parts ...[]byte) {
	t.Helper()
	if err := b.Put(parts...); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t *testing.T, b *outbox.Outbox) {
	t.Helper()
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestOrder sends parts of all sizes and expects every byte in its place.
func TestOrder(t *testing.T) {
	eachLink(t, func(t *testing.T, w io.WriteCloser, r io.ReadCloser) {
		b := outbox.New(w, outbox.Options{})
		rnd := rand.New(rand.NewPCG(1, 2))
		var want []byte
		got := make(chan []byte)
		go func() {
			all, _ := io.ReadAll(r)
			got <- all
		}()
		for i := range 400 {
			sizes := []int{rnd.IntN(40), rnd.IntN(4000), 0}
			if i%40 == 0 {
				sizes[2] = 16<<10 + rnd.IntN(200<<10)
			}
			var parts [][]byte
			for _, n := range sizes {
				parts = append(parts, bytes.Repeat([]byte{byte(i)}, n))
				want = append(want, parts[len(parts)-1]...)
			}
			mustPut(t, b, parts...)
			if rnd.IntN(5) == 0 {
				b.Flush()
			}
		}
		mustClose(t, b)
		if items, bytes := b.Queued(); items != 0 || bytes != 0 {
			t.Errorf("queued after Close: %d items, %d bytes", items, bytes)
		}
		w.Close()
		if all := <-got; !bytes.Equal(all, want) {
			t.Errorf("read %d bytes, want %d, or in another order", len(all), len(want))
		}
	})
}

// TestTogether has many goroutines put and flush at once: no item may be torn,
// and the items of one goroutine stay in order.
func TestTogether(t *testing.T) {
	eachLink(t, func(t *testing.T, w io.WriteCloser, r io.ReadCloser) {
		const writers, each = 8, 200
		b := outbox.New(w, outbox.Options{})
		fill := bytes.Repeat([]byte{'.'}, 20<<10)
		var wg sync.WaitGroup
		for g := range writers {
			wg.Go(func() {
				for i := range each {
					parts := [][]byte{fmt.Appendf(nil, "%d %d ", g, i), []byte("\n")}
					if i%50 == 0 {
						parts = [][]byte{parts[0], fill, parts[1]}
					}
					if err := b.Put(parts...); err != nil {
						t.Error(err)
					}
					b.Flush()
				}
			})
		}
		next := make([]int, writers)
		lines := bufio.NewReader(r)
		for range writers * each {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var g, i int
			if _, err := fmt.Sscanf(line, "%d %d ", &g, &i); err != nil || i != next[g] {
				t.Fatalf("line %.40q: want number %d of writer %d (%v)", line, next[g], g, err)
			}
			if strings.Count(line, ".") != len(fill) && strings.Count(line, ".") != 0 {
				t.Fatalf("line of writer %d is torn", g)
			}
			next[g]++
		}
		wg.Wait()
		mustClose(t, b)
	})
}

// TestFlushDoesNotWait flushes into a pipe that nobody reads.
func TestFlushDoesNotWait(t *testing.T) {
	eachLink(t, func(t *testing.T, w io.WriteCloser, r io.ReadCloser) {
		b := outbox.New(w, outbox.Options{})
		big := bytes.Repeat([]byte{'x'}, 12<<20)
		mustPut(t, b, big)
		b.Flush()
		mustPut(t, b, []byte("end"))
		b.Flush()
		if items, _ := b.Queued(); items != 2 {
			t.Errorf("%d items queued, want 2: who has taken 12 MiB?", items)
		}
		all := make(chan []byte)
		go func() {
			got, _ := io.ReadAll(r)
			all <- got
		}()
		mustClose(t, b)
		w.Close()
		if got := <-all; len(got) != len(big)+3 || !bytes.HasSuffix(got, []byte("xend")) {
			t.Errorf("read %d bytes, want %d", len(got), len(big)+3)
		}
	})
}

func TestFull(t *testing.T) {
	w, r := pipe(t)
	b := outbox.New(w, outbox.Options{MaxItems: 3, MaxBytes: 100})
	mustPut(t, b, make([]byte, 50))
	mustPut(t, b, make([]byte, 30), make([]byte, 10))
	if err := b.Put(make([]byte, 11)); err != outbox.ErrFull {
		t.Errorf("101 bytes of 100: %v", err)
	}
	mustPut(t, b, make([]byte, 10))
	if err := b.Put([]byte("x")); err != outbox.ErrFull {
		t.Errorf("item 4 of 3: %v", err)
	}
	if items, bytes := b.Queued(); items != 3 || bytes != 100 {
		t.Errorf("queued %d items, %d bytes, want 3 and 100", items, bytes)
	}
	b.Flush()
	if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, b) // so that a drain goroutine has accounted for it
	if items, bytes := b.Queued(); items != 0 || bytes != 0 {
		t.Errorf("queued %d items, %d bytes after all was read", items, bytes)
	}
}

// TestFullEnds shows that a full outbox takes more once its reader has read.
func TestFullEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := net.Pipe()
		defer w.Close()
		b := outbox.New(w, outbox.Options{MaxBytes: 10})
		mustPut(t, b, make([]byte, 10))
		b.Flush()
		if err := b.Put([]byte("x")); err != outbox.ErrFull {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		mustPut(t, b, []byte("x"))
		b.Flush()
		if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		mustClose(t, b)
	})
}

// TestStuckReader has nobody read: the outbox must fail, once, and not hang.
func TestStuckReader(t *testing.T) {
	eachLink(t, func(t *testing.T, w io.WriteCloser, _ io.ReadCloser) {
		t.Parallel()
		failed := make(chan error, 2)
		// longer than a busy machine may take to copy what fits into the kernel's buffers:
		// a write that does not return by then counts as written
		b := outbox.New(w, outbox.Options{Deadline: 3 * time.Second, OnFail: func(err error) { failed <- err }})
		mustPut(t, b, make([]byte, 16<<20))
		b.Flush()
		if err := <-failed; !errors.Is(err, outbox.ErrStuck) {
			t.Errorf("failed with %v, want ErrStuck", err)
		}
		if err := b.Put([]byte("x")); !errors.Is(err, outbox.ErrStuck) {
			t.Errorf("Put after the failure: %v", err)
		}
		b.Flush()
		if err := b.Close(t.Context()); !errors.Is(err, outbox.ErrStuck) {
			t.Errorf("Close after the failure: %v", err)
		}
		if items, bytes := b.Queued(); items != 1 || bytes == 0 {
			t.Errorf("queued %d items, %d bytes: what is lost must be counted", items, bytes)
		}
		if len(failed) > 0 {
			t.Error("OnFail called twice")
		}
	})
}

// TestSlowReader has somebody read very slowly, for much longer than the
// deadline: that is progress, not failure.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := net.Pipe()
		defer w.Close()
		b := outbox.New(w, outbox.Options{Deadline: 10 * time.Second, OnFail: func(err error) { t.Error(err) }})
		want := bytes.Repeat([]byte("slow"), 20<<10)
		mustPut(t, b, want)
		b.Flush()
		var got []byte
		buf := make([]byte, 1000)
		for len(got) < len(want) {
			time.Sleep(9 * time.Second)
			n, err := r.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, buf[:n]...)
		}
		if !bytes.Equal(got, want) {
			t.Error("read something else than was put")
		}
		mustClose(t, b)
	})
}

// TestDeadlineEnds shows that a deadline set for a backlog is taken back with
// it. On a descriptor it would hit a later Flush.
func TestDeadlineEnds(t *testing.T) {
	w, r := pipe(t)
	timed := &timedFile{File: w.(*os.File)}
	b := outbox.New(timed, outbox.Options{OnFail: func(err error) { t.Error(err) }})
	mustPut(t, b, make([]byte, 1<<20))
	b.Flush()
	if _, err := io.ReadFull(r, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, b)
	timed.mu.Lock()
	defer timed.mu.Unlock()
	if !timed.had || !timed.last.IsZero() {
		t.Errorf("there was a deadline: %v; it is now %v", timed.had, timed.last)
	}
}

// A timedFile notes its write deadlines.
type timedFile struct {
	*os.File

	mu   sync.Mutex
	had  bool // one that was none of the zero time
	last time.Time
}

func (f *timedFile) SetWriteDeadline(at time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.had, f.last = f.had || !at.IsZero(), at
	return f.File.SetWriteDeadline(at)
}

func TestReaderGone(t *testing.T) {
	for _, size := range []int{10, 8 << 20} {
		eachLink(t, func(t *testing.T, w io.WriteCloser, r io.ReadCloser) {
			failed := make(chan error, 100)
			b := outbox.New(w, outbox.Options{OnFail: func(err error) { failed <- err }})
			r.Close()
			var err error
			for err == nil { // tcp takes a write or two before it notices
				if err = b.Put(make([]byte, size)); errors.Is(err, outbox.ErrFull) {
					err = nil
				}
				b.Flush()
			}
			if got := <-failed; got != err {
				t.Errorf("OnFail got %v, Put %v", got, err)
			}
			if got := b.Close(t.Context()); got != err {
				t.Errorf("Close: %v, want %v", got, err)
			}
			if len(failed) > 0 {
				t.Error("OnFail called twice")
			}
		})
	}
}

// TestCloseGivesUp closes with a reader that never reads. The leak check of
// TestMain sees to it that no goroutine stays behind.
func TestCloseGivesUp(t *testing.T) {
	eachLink(t, func(t *testing.T, w io.WriteCloser, r io.ReadCloser) {
		b := outbox.New(w, outbox.Options{OnFail: func(err error) { t.Error("OnFail:", err) }})
		mustPut(t, b, make([]byte, 16<<20))
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		cancel(why)
		if err := b.Close(ctx); !errors.Is(err, why) {
			t.Errorf("Close: %v, want %v", err, why)
		}
		if err := b.Put([]byte("x")); err == nil {
			t.Error("Put after Close did not fail")
		}
		if c, ok := w.(net.Conn); ok { // the interrupting deadline must not stay
			go io.Copy(io.Discard, r)
			if _, err := c.Write([]byte("bye")); err != nil {
				t.Error("last words:", err)
			}
		}
		if err := b.Close(t.Context()); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("second Close: %v", err)
		}
	})
}

// A write without a deadline does not return before w is closed. Who closes again does not wait
// for that.
func TestCloseGivesUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer r.Close()
		b := outbox.New(w, outbox.Options{})
		mustPut(t, b, make([]byte, 1<<20))
		b.Flush()
		if _, err := r.Read(make([]byte, 1)); err != nil { // so it is being written
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 {
			if err := b.Close(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Close: %v", err)
			}
			ctx = t.Context()
		}
	})
}

func TestCloseIdle(t *testing.T) {
	eachLink(t, func(t *testing.T, w io.WriteCloser, _ io.ReadCloser) {
		b := outbox.New(w, outbox.Options{})
		b.Flush()
		mustPut(t, b)
		mustPut(t, b, nil, []byte{})
		if items, bytes := b.Queued(); items != 0 || bytes != 0 {
			t.Errorf("nothing put, %d items and %d bytes queued", items, bytes)
		}
		mustClose(t, b)
		mustClose(t, b)
		if err := b.Put([]byte("x")); err != outbox.ErrClosed {
			t.Errorf("Put after Close: %v", err)
		}
	})
}

// TestOnFailMayClose closes everything from inside OnFail, as an owner would.
func TestOnFailMayClose(t *testing.T) {
	eachLink(t, func(t *testing.T, w io.WriteCloser, _ io.ReadCloser) {
		var b *outbox.Outbox
		closed := make(chan error)
		b = outbox.New(w, outbox.Options{Deadline: 10 * time.Millisecond, OnFail: func(error) {
			w.Close()
			closed <- b.Close(context.Background())
		}})
		mustPut(t, b, make([]byte, 16<<20))
		b.Flush()
		if err := <-closed; err == nil {
			t.Error("Close after a failure returned nil")
		}
	})
}

// A tally counts writes. It is no descriptor, so the goroutine writes.
type tally struct{ writes chan string }

func (c tally) Write(p []byte) (int, error) {
	c.writes <- string(p)
	return len(p), nil
}

func TestOneWriteForMany(t *testing.T) {
	c := tally{make(chan string, 100)}
	b := outbox.New(c, outbox.Options{})
	for range 50 {
		mustPut(t, b, []byte("a line"), []byte("\n"))
	}
	mustClose(t, b)
	if len(c.writes) != 1 {
		t.Errorf("%d writes, want 1", len(c.writes))
	}
}

type shorty struct{}

func (shorty) Write(p []byte) (int, error) { return 0, nil }

func TestWriterThatWritesNothing(t *testing.T) {
	b := outbox.New(shorty{}, outbox.Options{})
	mustPut(t, b, []byte("x"))
	if err := b.Close(t.Context()); err != io.ErrShortWrite {
		t.Errorf("Close: %v, want %v", err, io.ErrShortWrite)
	}
}

// What has arrived is never among what Queued says will not, wherever the
// write was when it was given up: a caller that hears that its line never left
// may send it again.
func TestQueuedHoldsNothingThatArrived(t *testing.T) {
	const lines, size = 20_000, 1000
	eachLink(t, func(t *testing.T, w io.WriteCloser, r io.ReadCloser) {
		b := outbox.New(w, outbox.Options{MaxItems: lines, MaxBytes: lines * size})
		for i := range lines {
			mustPut(t, b, fmt.Appendf(nil, "%0*d\n", size-1, i))
		}
		b.Flush()
		in := bufio.NewReaderSize(r, 16)
		if _, err := io.CopyN(io.Discard, in, 100*size+size/2); err != nil {
			t.Fatal(err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		err := b.Close(over)
		never, _ := b.Queued()
		w.Close()
		rest, _ := io.ReadAll(in)
		arrived := 100 + bytes.Count(rest, []byte("\n"))
		if arrived+never > lines {
			t.Errorf("%d of %d lines arrived and %d are said never to have left", arrived, lines, never)
		}
		if never == 0 || err == nil {
			t.Errorf("nothing was left over (%v): the test shows nothing", err)
		}
	})
}

func TestWaitReturnsWhenThereIsRoom(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			w, r := l.open(t)
			b := outbox.New(w, outbox.Options{})
			b.Put(make([]byte, 16<<20))
			late, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, errors.New("too late"))
			defer cancel()
			if err := b.Wait(late, 100); err == nil || err.Error() != "too late" {
				t.Errorf("nobody reads, and Wait returns %v", err)
			}
			read := make(chan int64, 1)
			go func() {
				n, _ := io.CopyN(io.Discard, r, 16<<20)
				read <- n
			}()
			if err := b.Wait(t.Context(), 0); err != nil {
				t.Error(err)
			}
			if n := <-read; n != 16<<20 {
				t.Errorf("%d bytes were read", n)
			}
			b.Put(make([]byte, 16<<20))
			b.Flush()
			failed := make(chan error, 1)
			go func() { failed <- b.Wait(t.Context(), 0) }()
			b.Close(late)
			if err := <-failed; err == nil {
				t.Error("what was given up is waited for")
			}
			w.Close()
		})
	}
}
