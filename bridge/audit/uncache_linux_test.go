package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// What is on the disk is in memory no more, where the system can be told so and asked. A page that the kernel has in
// hand at that moment may stay, so one file proves nothing.
func TestWhatIsSyncedIsNotKeptInMemory(t *testing.T) {
	told := writtenFile(t, "told")
	told.Sync()
	unix.Fadvise(int(told.Fd()), 0, 0, unix.FADV_DONTNEED)
	if inMemory(told) || !inMemory(writtenFile(t, "untold")) {
		t.Skip("there is no telling here")
	}
	const files = 8
	kept := 0
	for n := range files {
		f := writtenFile(t, strconv.Itoa(n))
		log := &disk{File: f}
		for range 2 {
			if err := log.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		if inMemory(f) {
			kept++
		}
	}
	if kept > files/2 {
		t.Errorf("of %d files %d were on the disk before the last sync, and are still in memory", files, kept)
	}
}

// writtenFile is one with enough in it to be let go of.
func writtenFile(t *testing.T, name string) *os.File {
	f, err := os.OpenFile(filepath.Join(t.TempDir(), name), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	f.Write(bytes.Repeat([]byte("line\n"), freeLeast))
	return f
}

// inMemory reports whether the beginning of f can be read without the disk.
func inMemory(f *os.File) bool {
	_, err := unix.Preadv2(int(f.Fd()), [][]byte{make([]byte, 1)}, 0, unix.RWF_NOWAIT)
	return !errors.Is(err, unix.EAGAIN)
}
