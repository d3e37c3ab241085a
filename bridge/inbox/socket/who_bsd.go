//go:build darwin || freebsd

package socket

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// sameUser refuses what another user's process has connected.
func sameUser(c net.Conn) error {
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Xucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptXucred(int(fd), solLocal, unix.LOCAL_PEERCRED) })
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case int(cred.Uid) != os.Geteuid():
		return fmt.Errorf("a process of another user (uid %d)", cred.Uid)
	}
	return nil
}

// solLocal is the level of LOCAL_PEERCRED.
const solLocal = 0
