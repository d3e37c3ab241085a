package outbox_test

import (
	"bytes"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// packets returns a connection that keeps each write apart.
func packets(t *testing.T) (w, r net.Conn) {
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
