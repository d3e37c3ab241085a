package stdiotest

import "golang.org/x/sys/unix"

// holdStdin moves what comes next on stdin to where nobody takes it. Meanwhile the
// kernel holds the pipe's lock, for which whoever writes into it waits.
func holdStdin() {
	full, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	for err == nil {
		_, err = unix.SendmsgN(full[0], make([]byte, 4096), nil, nil, unix.MSG_DONTWAIT)
	}
	unix.Splice(0, nil, full[0], nil, 1<<20, 0)
}
