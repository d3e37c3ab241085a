//go:build unix

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func openNoFollow(path string, flag int) (*os.File, error) {
	// Without O_NONBLOCK a pipe without a reader would hold us here.
	return os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
}

// private refuses a file that belongs to somebody else or that others may use.
func private(name string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (uid %d)", name, s.Uid)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("others can get at %s (mode %04o): chmod 600 it", name, mode)
	}
	return nil
}

// sheltered refuses a directory in which others can replace files.
func sheltered(name string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() && s.Uid != 0 {
		return fmt.Errorf("the directory %s belongs to another user (uid %d)", name, s.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("others can write to the directory %s (mode %04o): chmod 700 it", name, info.Mode().Perm())
	}
	return nil
}

// lock holds f for us until it is closed, or we are dead.
func lock(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	if err := raw.Control(func(fd uintptr) { locked = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		return err
	}
	if errors.Is(locked, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", f.Name(), ErrLocked)
	}
	return locked
}

func truncate(f *os.File, _ string, size int64) error { return f.Truncate(size) }

// syncDir makes the names in dir last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
