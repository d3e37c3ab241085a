package install_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

const accessList = "system.posix_acl_access"

// listFor is an access list by which one other user reads a file, and its group does not.
func listFor(user uint32) []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, entry := range []struct {
		tag, may uint16
		id       uint32
	}{{1, 6, ^uint32(0)}, {2, 4, user}, {4, 0, ^uint32(0)}, {16, 4, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, entry.tag)
		list = binary.LittleEndian.AppendUint16(list, entry.may)
		list = binary.LittleEndian.AppendUint32(list, entry.id)
	}
	return list
}

// give puts an access list to a file or, as what new files in it get, to a directory.
func give(t *testing.T, name, kind string, list []byte) {
	t.Helper()
	err := unix.Setxattr(name, kind, list, 0)
	if errors.Is(err, unix.ENOTSUP) {
		t.Skip("there are no access lists here")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// listOf is the access list of a file, nil if it has none.
func listOf(t *testing.T, name string) []byte {
	t.Helper()
	list := make([]byte, 1<<10)
	n, err := unix.Getxattr(name, accessList, list)
	if err != nil && !errors.Is(err, unix.ENODATA) {
		t.Fatal(err)
	}
	return list[:max(n, 0)]
}

// With an access list the bits of the group say what is the most that those in the list
// may do: without the list the group itself may do that.
func TestAnAccessListStays(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(one))
	want := listFor(4242)
	give(t, s.place.File, accessList, want)
	s.wrap("a")
	info, err := os.Stat(s.place.File)
	if got := listOf(t, s.place.File); err != nil || !bytes.Equal(got, want) || info.Mode().Perm() != 0o640 {
		t.Errorf("wrapped: mode %v, %v, list %x", info.Mode(), err, got)
	}
	s.undo()
	if got := listOf(t, s.place.File); !bytes.Equal(got, want) {
		t.Errorf("undone: %x", got)
	}
}

// A file without a list gets none from a directory that gives one to what is new in it.
func TestAnAccessListDoesNotComeFromTheDirectory(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(one))
	give(t, filepath.Dir(s.place.File), "system.posix_acl_default", listFor(4242))
	s.wrap("a")
	if got := listOf(t, s.place.File); len(got) > 0 {
		t.Errorf("it has a list now: %x", got)
	}
}
