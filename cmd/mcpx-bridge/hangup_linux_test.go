package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt/prompttest"
)

// inWindow starts us as the shell in a window would.
func inWindow(t *testing.T, stdin func(*prompttest.Terminal) io.Reader, args ...string) (term *prompttest.Terminal, us *exec.Cmd, ended <-chan error) {
	t.Helper()
	term = prompttest.Open(t, 130, 40)
	us = exec.Command("mcpx-bridge", args...)
	us.Env = append(os.Environ(), "TERM=xterm")
	us.Stdin, us.Stdout, us.Stderr = stdin(term), term.Slave, term.Slave
	us.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	if err := us.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- us.Wait() }()
	t.Cleanup(func() { us.Process.Kill() })
	return term, us, over
}

// keyboard and nowhere are where stdin of who is started at a terminal comes from.
func keyboard(term *prompttest.Terminal) io.Reader { return term.Slave }
func nowhere(*prompttest.Terminal) io.Reader       { return nil } // which is /dev/null

// serverAt is the server that a run at a terminal has launched.
func serverAt(t *testing.T, term *prompttest.Terminal) int {
	t.Helper()
	term.Sees("fs serves")
	pid, err := strconv.Atoi(regexp.MustCompile(`server launched pid=(\d+)`).FindStringSubmatch(term.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// The hangup of a terminal that was closed was taken for the wish to read the policy again:
// run and its server stayed, with nobody to see them. So they did later where stdin was no terminal.
func TestAClosedTerminalEndsWhatRanThere(t *testing.T) {
	for name, stdin := range map[string]func(*prompttest.Terminal) io.Reader{"its keys are read": keyboard, "they are not": nowhere} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			file := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(file, []byte("version: 1\ndefault: ask\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			term, us, ended := inWindow(t, stdin, "run", "--listen", "127.0.0.1:0", "--id", "fs", "--policy", file, "--", "server")
			server := serverAt(t, term)
			if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
				t.Fatal(err)
			}
			us.Process.Signal(syscall.SIGHUP) // at a terminal that lives it is the wish to reload
			term.Sees("the policy file was not taken, the old rules stay")
			term.Closes()
			select {
			case <-ended:
			case <-time.After(patience):
				t.Fatal("it does not end")
			}
			if lives(server) {
				t.Errorf("its server %d is left", server)
			}
		})
	}
}

// takesNothing is what Ctrl-S does.
func takesNothing(t *testing.T, term *prompttest.Terminal) {
	t.Helper()
	if err := unix.IoctlSetInt(int(term.Slave.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
}

// A terminal that takes no output (Ctrl-S, or somebody reads back in screen) kept run and approve
// from ending.
func TestASignalEndsWhatHasATerminalThatTakesNoOutput(t *testing.T) {
	for _, args := range [][]string{{"run", "--listen", "127.0.0.1:0", "--id", "fs", "--", "server"}, {"approve"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			term, us, ended := inWindow(t, keyboard, args...)
			server := 0
			if args[0] == "run" {
				server = serverAt(t, term)
			} else {
				term.Sees("waiting for one")
			}
			takesNothing(t, term)
			endsBySignal(t, us, ended)
			if server != 0 && lives(server) {
				t.Errorf("its server %d is left", server)
			}
			if !term.Canonical() {
				t.Error("the terminal is not what it was")
			}
		})
	}
}

// Nor did approve end in a topic whose gateway went meanwhile: who was to leave that waited for the
// log to be taken.
func TestASignalEndsApproveThatHasALogToWriteThere(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	host := exec.Command("mcpx-bridge", "run", "--listen", "127.0.0.1:0", "--json", "--", "server")
	said, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer host.Wait()
	defer host.Process.Kill()
	if !bufio.NewScanner(said).Scan() { // ready
		t.Fatal("there is no gateway")
	}
	term, us, ended := inWindow(t, keyboard, "approve", "--id", "ann")
	term.Sees("watching lobby as ann")
	takesNothing(t, term)
	host.Process.Kill()
	writes := fmt.Sprintf("%d 0x1 ", unix.SYS_WRITE)
	for late := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) { // until it writes that the gateway is gone
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", us.Process.Pid))
		if slices.ContainsFunc(threads, func(name string) bool {
			call, err := os.ReadFile(name)
			if os.IsPermission(err) {
				t.Skip("the system does not say where a thread is")
			}
			return strings.HasPrefix(string(call), writes)
		}) {
			break
		}
		if time.Now().After(late) {
			t.Fatal("it writes nothing")
		}
	}
	endsBySignal(t, us, ended)
}

// endsBySignal tells a program to end, which it has to do as if all were well.
func endsBySignal(t *testing.T, us *exec.Cmd, ended <-chan error) {
	t.Helper()
	us.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}
