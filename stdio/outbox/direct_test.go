//go:build linux || darwin

package outbox_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// TestBlockingDescriptor has a descriptor in blocking mode, as inherited ones
// are, full to the brim. A write(2) in Flush would hang.
func TestBlockingDescriptor(t *testing.T) {
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	defer r.Close()
	failed := make(chan error, 1)
	b := outbox.New(w, outbox.Options{Deadline: 20 * time.Millisecond, OnFail: func(err error) { failed <- err }})
	mustPut(t, b, make([]byte, 1<<20))
	b.Flush()
	if err := <-failed; !errors.Is(err, outbox.ErrStuck) {
		t.Errorf("failed with %v, want ErrStuck", err)
	}
	if err := b.Close(t.Context()); !errors.Is(err, outbox.ErrStuck) {
		t.Errorf("Close: %v", err)
	}
	io.Copy(io.Discard, io.LimitReader(r, 64<<10)) // lets the write that lingers go on …
	r.Close()                                      // … and fail
	w.Close()
}

// TestModeChanges makes a descriptor blocking behind the outbox's back.
func TestModeChanges(t *testing.T) {
	w, r := pipe(t)
	b := outbox.New(w, outbox.Options{})
	w.(*os.File).Fd() // has that side effect
	mustPut(t, b, make([]byte, 1<<20))
	b.Flush()
	if _, err := io.ReadFull(r, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, b)
}

// TestOwnFills writes to descriptors of our own, without a look at their mode
// each time, until one takes a part of an item, or nothing of it, and then goes on.
func TestOwnFills(t *testing.T) {
	for _, l := range links[:2] { // those with a descriptor
		t.Run(l.name, func(t *testing.T) {
			w, r := l.open(t)
			b := outbox.New(w, outbox.Options{Own: true, OnFail: func(err error) { t.Error(err) }})
			for _, size := range []int{10_000, 8 << 10, 10_000} { // a pipe is full within an item, or after one
				var want []byte
				add := func() {
					item := bytes.Repeat([]byte{byte(len(want) / size)}, size)
					mustPut(t, b, item)
					b.Flush()
					want = append(want, item...)
				}
				for items := 0; items == 0; items, _ = b.Queued() {
					add()
				}
				add()
				got := make([]byte, len(want))
				if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("read something else than the %d bytes that were put (%v)", len(want), err)
				}
				if err := b.Wait(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
			}
			mustClose(t, b)
		})
	}
}

// TestOwnReaderGone: who writes to a descriptor of our own hears why it cannot.
func TestOwnReaderGone(t *testing.T) {
	w, r := pipe(t)
	failed := make(chan error, 1)
	b := outbox.New(w, outbox.Options{Own: true, OnFail: func(err error) { failed <- err }})
	r.Close()
	mustPut(t, b, []byte("x"))
	b.Flush()
	if err := <-failed; !errors.Is(err, unix.EPIPE) {
		t.Errorf("failed with %v, want EPIPE", err)
	}
}
