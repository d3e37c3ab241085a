//go:build unix

package main

import (
	"io"
	"os"
	"syscall"
)

// pipes returns a client's input and output in a form that waits in the
// runtime's poller, where they are pipes or sockets: a blocking read of an
// inherited one holds a whole thread, which costs milliseconds per big message
// where cores are few, and nothing can end it. The mode is the open file's, and
// others may have that too, so restore puts back what was there.
func pipes(in io.Reader, out io.Writer) (io.Reader, io.Writer, func()) {
	undoIn, undoOut := func() {}, func() {}
	if f, ok := in.(*os.File); ok {
		in, undoIn = polled(f)
	}
	if f, ok := out.(*os.File); ok {
		out, undoOut = polled(f)
	}
	return in, out, func() {
		undoOut()
		undoIn()
	}
}

func polled(f *os.File) (*os.File, func()) {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f, func() {}
	}
	fd := int(f.Fd())
	if syscall.SetNonblock(fd, true) != nil {
		return f, func() {}
	}
	return os.NewFile(uintptr(fd), f.Name()), func() { syscall.SetNonblock(fd, false) }
}
