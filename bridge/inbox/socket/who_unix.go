//go:build linux || darwin || freebsd

package socket

import (
	"fmt"
	"net"
	"os"
)

// sameUser refuses what another user's process has connected.
func sameUser(c net.Conn) error {
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var uid int
	var failed error
	err = raw.Control(func(fd uintptr) { uid, failed = peer(int(fd)) })
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case uid != os.Geteuid():
		return fmt.Errorf("a process of another user (uid %d)", uid)
	}
	return nil
}
