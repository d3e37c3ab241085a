package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt/prompttest"
)

// The hangup of a terminal that was closed was taken for the wish to read the policy again:
// run and its server stayed, with nobody to see them.
func TestAClosedTerminalEndsWhatRanThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ndefault: ask\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	term := prompttest.Open(t, 130, 40)
	bridge := exec.Command("mcpx-bridge", "run", "--listen", "127.0.0.1:0", "--id", "fs", "--policy", file, "--", "server")
	bridge.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "TERM=xterm")
	bridge.Stdin, bridge.Stdout, bridge.Stderr = term.Slave, term.Slave, term.Slave
	bridge.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := bridge.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- bridge.Wait() }()
	defer bridge.Process.Kill()
	term.Sees("fs serves")
	server, err := strconv.Atoi(regexp.MustCompile(`server launched pid=(\d+)`).FindStringSubmatch(term.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	bridge.Process.Signal(syscall.SIGHUP) // at a terminal that lives it is the wish to reload
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
}
