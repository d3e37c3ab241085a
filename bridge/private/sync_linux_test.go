package private

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSyncAside(t *testing.T) {
	open := func() File {
		f, err := OS{}.Open(filepath.Join(t.TempDir(), "f"), os.O_RDWR|os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	t.Run("several at a time, again and again", func(t *testing.T) {
		var all sync.WaitGroup
		for range 8 {
			f := open()
			all.Go(func() {
				for range 20 {
					if _, err := f.Write(make([]byte, 64<<10)); err != nil {
						t.Error(err)
					}
					if err := SyncAside(f); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		aside.mu.Lock()
		defer aside.mu.Unlock()
		if n := len(aside.idle); aside.refused == nil && (n < 1 || n > 8) {
			t.Errorf("%d are kept for eight at a time", n)
		}
	})
	t.Run("a file that is closed", func(t *testing.T) {
		f := open()
		f.Close()
		if err := SyncAside(f); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%v, want %v", err, os.ErrClosed)
		}
	})
	t.Run("what cannot be synced", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		if err := SyncAside(w); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%v, want %v", err, unix.EINVAL)
		}
	})
}
