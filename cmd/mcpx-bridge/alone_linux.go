package main

import "golang.org/x/sys/unix"

// keepToOurselves has the kernel keep this process's memory and environment from
// other processes of the same user, the server that it starts among them: a token
// may stand there (FINDINGS M10). It costs core dumps and debuggers. What is
// executed afterwards is readable again.
func keepToOurselves() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // where it is refused all is as it was
}
