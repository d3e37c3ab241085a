package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// A log that nobody reads keeps nobody from hearing our exit code.
func TestAnExitCodeIsNotHeldUpByALogThatNobodyReads(t *testing.T) {
	out, in := io.Pipe() // takes nothing
	defer out.Close()    // which ends the writing
	state := t.TempDir()
	code := make(chan int, 1)
	go func() {
		code <- run(context.Background(), []string{"run", "--listen", "127.0.0.1:0", "--", "/nonexistent/server"}, env{
			stdin: strings.NewReader(""), stdout: io.Discard, stderr: in,
			getenv:  func(key string) string { return map[string]string{"XDG_STATE_HOME": state}[key] },
			environ: func() []string { return nil },
		})
	}()
	select {
	case got := <-code:
		if got != exitServer {
			t.Errorf("it ended with %d, want %d", got, exitServer)
		}
	case <-time.After(patience):
		t.Error("it does not end")
	}
}
