//go:build unix

package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func open(path string, flag int) (*os.File, error) {
	// Without O_NONBLOCK a pipe without a reader would hold us here.
	return os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
}

func closed(name string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (uid %d)", name, s.Uid)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("others can get at %s (mode %04o)", name, mode)
	}
	return nil
}

func sheltered(name string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() && s.Uid != 0 {
		return fmt.Errorf("the directory %s belongs to another user (uid %d)", name, s.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("others can write to the directory %s (mode %04o): chmod 700 it", name, info.Mode().Perm())
	}
	return nil
}

func authored(name string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() && s.Uid != 0 {
		return fmt.Errorf("%s belongs to another user (uid %d)", name, s.Uid)
	}
	if mode := info.Mode().Perm(); mode&0o002 != 0 {
		return fmt.Errorf("anybody can write to %s (mode %04o): chmod o-w it", name, mode)
	}
	return nil
}

func lock(f *os.File, alone bool) (bool, error) {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	raw, err := f.SyscallConn() // f.Fd would make it block for good
	if err != nil {
		return false, err
	}
	var locked error
	if err := raw.Control(func(fd uintptr) { locked = unix.Flock(int(fd), how|unix.LOCK_NB) }); err != nil {
		return false, err
	}
	if errors.Is(locked, unix.EWOULDBLOCK) {
		return false, nil
	}
	return locked == nil, locked
}
