package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// Windows knows unix sockets too. Who may connect is settled by the rights of
// the directory, which %LocalAppData% keeps from other users.

func shortDir(string) string { return "" }

func socketDir(dir, name string) (string, error) {
	if len(filepath.Join(dir, name+"~99.sock")) > longestPath {
		return "", fmt.Errorf("%s is too long a name for a directory with sockets: set XDG_STATE_HOME to a shorter one", dir)
	}
	return dir, nil
}

func reach(path string) (at string, done func(), err error) { return path, func() {}, nil }

// ownedAndClosed has nothing to add here: mode bits say nothing.
func ownedAndClosed(string, fs.FileInfo) error { return nil }

// lockFile takes the lock without waiting and reports whether it got it.
func lockFile(f *os.File) (bool, error) {
	const how = windows.LOCKFILE_FAIL_IMMEDIATELY | windows.LOCKFILE_EXCLUSIVE_LOCK
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}
