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

func openFollowing(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// foreign reports the owner of what belongs neither to us nor to root.
func foreign(info fs.FileInfo) (uid uint32, yes bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(s.Uid) == os.Geteuid() || s.Uid == 0 {
		return 0, false
	}
	return s.Uid, true
}

// linked refuses a symbolic link of somebody else's.
func linked(name string, info fs.FileInfo) error {
	if uid, yes := foreign(info); yes {
		return fmt.Errorf("the link %s %w (uid %d)", name, ErrForeign, uid)
	}
	return nil
}

// passage refuses a directory in which somebody else can put another file in the
// place of ours. A group may, as in [Authored]; in a sticky one only owners can.
func passage(name string, info fs.FileInfo) error {
	if uid, yes := foreign(info); yes {
		return fmt.Errorf("the directory %s %w (uid %d)", name, ErrForeign, uid)
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("anybody can write to the directory %s (mode %04o): chmod o-w it", name, info.Mode().Perm())
	}
	return nil
}

func closed(name string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s %w (uid %d)", name, ErrForeign, s.Uid)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%w %s (mode %04o)", ErrOpen, name, mode)
	}
	return nil
}

func sheltered(name string, info fs.FileInfo) error {
	if uid, yes := foreign(info); yes {
		return fmt.Errorf("the directory %s %w (uid %d)", name, ErrForeign, uid)
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("others can write to the directory %s (mode %04o): chmod 700 it", name, info.Mode().Perm())
	}
	return nil
}

func authored(name string, info fs.FileInfo) error {
	if uid, yes := foreign(info); yes {
		return fmt.Errorf("%s %w (uid %d)", name, ErrForeign, uid)
	}
	if mode := info.Mode().Perm(); mode&0o002 != 0 {
		return fmt.Errorf("anybody can write to %s (mode %04o): chmod o-w it", name, mode)
	}
	return nil
}

// syncDir makes the names in dir last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // some file systems know no such thing
		return err
	}
	return nil
}

func lock(f File, alone bool) (bool, error) {
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
