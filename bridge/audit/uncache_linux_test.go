package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What is on the disk is in memory no more, where the system can be told so and
// asked.
func TestWhatIsSyncedIsNotKeptInMemory(t *testing.T) {
	written := func(name string) *os.File {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), name), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		f.Write(bytes.Repeat([]byte("line\n"), freeLeast))
		return f
	}
	told := written("told")
	told.Sync()
	unix.Fadvise(int(told.Fd()), 0, 0, unix.FADV_DONTNEED)
	asked := written("asked")
	if inMemory(told) || !inMemory(asked) {
		t.Skip("there is no telling here")
	}
	log := &disk{File: asked}
	for range 2 {
		if err := log.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if inMemory(asked) {
		t.Error("on the disk before the last sync, and still in memory")
	}
}

// inMemory reports whether the beginning of f can be read without the disk.
func inMemory(f *os.File) bool {
	_, err := unix.Preadv2(int(f.Fd()), [][]byte{make([]byte, 1)}, 0, unix.RWF_NOWAIT)
	return !errors.Is(err, unix.EAGAIN)
}
