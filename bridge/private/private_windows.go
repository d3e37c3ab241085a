package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// open gives leave to rename the file while it is open, which os.OpenFile does
// not and os.Root does.
func open(path string, flag int) (*os.File, error) {
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

func openFollowing(path string) (*os.File, error) { return os.Open(path) }

func linked(string, fs.FileInfo) error { return nil }

func passage(string, fs.FileInfo) error { return nil }

func closed(string, fs.FileInfo) error { return nil }

func sheltered(string, fs.FileInfo) error { return nil }

func authored(string, fs.FileInfo) error { return nil }

// syncDir: there is nothing to sync a directory with; NTFS keeps names in a
// journal, in order.
func syncDir(string) error { return nil }

// lock locks bytes far behind all others, because nobody else could read those.
func lock(f File, alone bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var locked error
	if err := raw.Control(func(fd uintptr) {
		locked = windows.LockFileEx(windows.Handle(fd), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	}); err != nil {
		return false, err
	}
	err = locked
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}
