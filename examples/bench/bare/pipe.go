package main

import (
	"io"
	"os"
	"os/exec"
)

// pipe starts a command and copies our stdin to its, and its stdout to ours,
// unread.
func pipe(argv []string) error {
	cmd, in, out, err := start(argv)
	if err != nil {
		return err
	}
	go func() {
		io.Copy(in, os.Stdin)
		in.Close()
	}()
	if _, err := io.Copy(os.Stdout, out); err != nil {
		return err
	}
	return cmd.Wait()
}

// start starts a command between two pipes.
func start(argv []string) (*exec.Cmd, io.WriteCloser, io.Reader, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	return cmd, in, out, cmd.Start()
}
