//go:build linux || darwin

package outbox_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// packets returns a connection that keeps each write apart.
func packets(t *testing.T) (w, r net.Conn) {
	if runtime.GOOS == "darwin" {
		t.Skip("no packet-preserving stream sockets here")
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := [2]net.Conn{}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "packets")
		ends[i], err = net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ends[i].Close() })
	}
	return ends[0], ends[1]
}

// TestOneCallForMany puts many items and expects one Flush to write them with
// one system call, large ones with their small neighbours.
func TestOneCallForMany(t *testing.T) {
	w, r := packets(t)
	b := outbox.New(w, outbox.Options{})
	var want []byte
	for i := range 20 {
		parts := [][]byte{{byte(i)}, bytes.Repeat([]byte{byte(i)}, 100), []byte("\n")}
		if i == 10 {
			parts[1] = bytes.Repeat([]byte{byte(i)}, 20<<10)
		}
		mustPut(t, b, parts...)
		want = append(want, bytes.Join(parts, nil)...)
	}
	b.Flush()
	if items, _ := b.Queued(); items != 0 {
		t.Errorf("%d items queued after Flush: it did not write them itself", items)
	}
	buf := make([]byte, 1<<20)
	n, err := r.Read(buf)
	if err != nil || !bytes.Equal(buf[:n], want) {
		t.Errorf("first packet has %d bytes, want %d (%v)", n, len(want), err)
	}
	mustClose(t, b)
}

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
