//go:build linux || darwin

package outbox_test

import (
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
