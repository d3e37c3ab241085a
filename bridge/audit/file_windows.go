package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// openNoFollow opens with leave to rename the file while it is open, which
// os.OpenFile does not give and os.Root does.
func openNoFollow(path string, flag int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a symbolic link", path)
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(filepath.Base(path), flag, 0o600)
}

// private and sheltered have nothing to add here: what lies below
// %LocalAppData% is closed to other users, and mode bits say nothing.
func private(string, fs.FileInfo) error { return nil }

func sheltered(string, fs.FileInfo) error { return nil }

// lock holds f for us until it is closed. The bytes it locks are far behind
// all others, because nobody else could read those.
func lock(f *os.File) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY | windows.LOCKFILE_EXCLUSIVE_LOCK)
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return fmt.Errorf("%s: %w", f.Name(), ErrLocked)
	}
	return err
}

// truncate goes by the name: a handle for appending may not shorten.
func truncate(_ *os.File, path string, size int64) error { return os.Truncate(path, size) }

func syncDir(string) error { return nil }
