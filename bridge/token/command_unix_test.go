//go:build unix

package token_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// wontEnd is when what should have ended by itself never will.
const wontEnd = time.Minute

// ran runs a line of sh as the command of a Source. The line says a pid on its stderr, which
// whoever it starts has, too: what can be read there ends with the last of them.
func ran(t *testing.T, ctx context.Context, line string) (pid int, said *bufio.Reader, got <-chan string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	r.SetReadDeadline(time.Now().Add(wontEnd))
	answer := make(chan string, 1)
	go func() {
		defer w.Close()
		text, err := token.Command([]string{"sh", "-c", line}, nil, w).Token(ctx, false)
		if err != nil {
			text = err.Error()
		}
		answer <- text
	}()
	said = bufio.NewReader(r)
	number, err := said.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(number)); err != nil {
		t.Fatal(err)
	}
	return pid, said, answer
}

// An agent that a command leaves running has its stdout for as long as it runs: the token, which
// is there, was refused.
func TestATokenIsTakenFromACommandThatLeavesSomebodyRunning(t *testing.T) {
	pid, _, got := ran(t, t.Context(), "sleep 1000 & echo $! >&2; echo token")
	defer syscall.Kill(pid, syscall.SIGKILL)
	if text := <-got; text != "token" {
		t.Error(text)
	}
	if !stdiotest.Alive(pid) {
		t.Error("whom it left was ended")
	}
}

// At a terminal they are not, so this runs without one.
func TestWhatATokenCommandStartedIsKilledWithIt(t *testing.T) {
	const alone = "TOKEN_TEST_ALONE"
	if os.Getenv(alone) == "" {
		test := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		test.Env = append(os.Environ(), alone+"=1")
		test.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if out, err := test.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	pid, said, got := ran(t, ctx, "sleep 1000 & echo $! >&2; wait")
	cancel() // as its time does
	t.Log(<-got)
	if _, err := said.ReadByte(); err != io.EOF {
		t.Errorf("%d lives on: %v", pid, err)
		syscall.Kill(pid, syscall.SIGKILL)
	}
}
