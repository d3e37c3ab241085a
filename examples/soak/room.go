//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// insideRoom is in the environment of the process that has namespaces of its own.
const insideRoom = "MCPX_SOAK_ROOM"

// enterRoom runs this program again, where it may mount a small disk that
// nobody else sees, and returns its exit code. It reports false where we are
// that program already, or where no such room is to be had.
func enterRoom() (code int, entered bool) {
	if os.Getenv(insideRoom) != "" {
		return 0, false
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideRoom+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	told := make(chan os.Signal, 4)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(told)
	if err := cmd.Start(); err != nil {
		return 0, false
	}
	go func() {
		for sig := range told {
			_ = cmd.Process.Signal(sig)
		}
	}()
	if err := cmd.Wait(); err != nil {
		if cmd.ProcessState.ExitCode() != 1 { // else it has said why
			fmt.Fprintln(os.Stderr, "soak:", err)
		}
		return 1, true
	}
	return 0, true
}

// A disk is a directory in memory whose size can be changed. The zero disk is
// a plain directory that cannot be filled.
type disk struct {
	dir  string
	full bool // it can be
}

const roomy = "size=75%,mode=0700"

func mountDisk(dir string) (disk, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return disk{}, err
	}
	if os.Getenv(insideRoom) == "" {
		return disk{dir: dir}, nil // others would see it
	}
	err := syscall.Mount("none", dir, "tmpfs", 0, roomy)
	return disk{dir, err == nil}, nil
}

// fill leaves no room beside what is there.
func (d disk) fill() error {
	var err error
	for spare := range uint64(16) { // somebody may write just now
		var s syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &s); err != nil {
			return err
		}
		size := fmt.Sprintf("size=%d", (s.Blocks-s.Bfree+spare)*uint64(s.Bsize))
		if err = syscall.Mount("none", d.dir, "tmpfs", syscall.MS_REMOUNT, size); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the disk cannot be filled: %w", err)
}

func (d disk) makeRoom() error {
	return syscall.Mount("none", d.dir, "tmpfs", syscall.MS_REMOUNT, roomy)
}

func (d disk) unmount() {
	if d.full {
		_ = syscall.Unmount(d.dir, syscall.MNT_DETACH)
	}
}
