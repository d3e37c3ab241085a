package main

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// ownedAndClosed has nothing to add here: %LocalAppData% is closed to other
// users by what it inherits, and mode bits say nothing.
func ownedAndClosed(*os.File) error { return nil }

func openNoFollow(name string) (*os.File, error) { return os.Open(name) }

// lockFile takes a lock without waiting and reports whether it got it. The
// lock ends when f is closed.
func lockFile(f *os.File, exclusive bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}
