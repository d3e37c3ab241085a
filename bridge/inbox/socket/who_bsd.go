//go:build darwin || freebsd

package socket

import "golang.org/x/sys/unix"

// peer is the user whose process is at the other end of a socket.
func peer(fd int) (uid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

// solLocal is the level of LOCAL_PEERCRED.
const solLocal = 0
