package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A familyHome is one in which bridges run as a user without rights. Their servers write the
// pids of what they start to files in it.
type familyHome struct {
	t    *testing.T
	cmd  *exec.Cmd // as it is to be started
	home string
}

func newFamilyHome(t *testing.T) *familyHome {
	cmd, home := ordinary(t)
	return &familyHome{t, cmd, home}
}

func (h *familyHome) pids(name string) []int {
	return stdiotest.Pids(h.t, filepath.Join(h.home, name))
}

// command is ours with these arguments.
func (h *familyHome) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.cmd.Path, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = h.cmd.Dir, h.cmd.Env, h.cmd.SysProcAttr
	return cmd
}

// A mortal is a bridge that runs.
type mortal struct {
	*exec.Cmd
	said *bytes.Buffer // to be read when it has ended
	in   io.Closer
}

// start begins a bridge in passthrough and waits until its server has started so many
// processes more, which the file lists.
func (h *familyHome) start(id, file string, more int, before string) *mortal {
	h.t.Helper()
	b := &mortal{Cmd: h.command("run", "--stdio", "--id", id, "--gateway", "ws://127.0.0.1:1", "--", "sh", "-c", before+"exec server '{}'"), said: &bytes.Buffer{}}
	b.Stderr = b.said
	in, err := b.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	b.in = in
	want := more
	if _, err := os.Stat(filepath.Join(h.home, file)); err == nil {
		want += len(h.pids(file))
	}
	if err := b.Cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		b.Process.Kill()
		b.Cmd.Wait()
		for _, pid := range h.pids(file) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	h.await(fmt.Sprint(more, " processes of ", id), func() bool {
		_, err := os.Stat(filepath.Join(h.home, file))
		return err == nil && len(h.pids(file)) == want
	})
	return b
}

// await looks again and again: nobody tells us of processes that are not our
// children, nor of files that other processes write.
func (h *familyHome) await(what string, done func() bool) {
	h.t.Helper()
	for late := time.Now().Add(30 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			h.t.Fatalf("waited for %s in vain", what)
		}
	}
}

func (h *familyHome) gone(pids []int) {
	h.t.Helper()
	for _, pid := range pids {
		h.await(fmt.Sprint(pid, " to be gone"), func() bool { return !stdiotest.Alive(pid) })
	}
}

func (h *familyHome) alive(who string, pids []int) {
	h.t.Helper()
	for _, pid := range pids {
		if !stdiotest.Alive(pid) {
			h.t.Errorf("%s: %d is gone", who, pid)
		}
	}
}

// leaves is what a server does that leaves two processes, one in its group and one that has
// fled it.
func leaves(file string) string {
	return `sh -c 'echo $$ >> ` + file + `; exec sleep 1000' </dev/null >/dev/null 2>&1 & (setsid sh -c 'trap "" TERM; echo $$ >> ` + file + `; while :; do sleep 1000; done' </dev/null >/dev/null 2>&1 &); `
}

// kill ends a bridge as nobody can help, and waits for the end of its server.
func (b *mortal) kill() {
	b.Process.Kill()
	b.Wait()
}

// Seen before the mend: each kill left two more (FINDINGS M10).
func TestWhatAKilledBridgeLeftIsEndedByItsNextStart(t *testing.T) {
	h := newFamilyHome(t)
	h.start("fs", "pids", 2, leaves("pids")).kill()
	first := h.pids("pids")
	h.alive("of one that was killed", first) // else there would be nothing to mend
	out, _ := h.command("doctor", "--id", "another").CombinedOutput()
	for _, pid := range first {
		if !strings.Contains(string(out), fmt.Sprint(pid)) {
			t.Errorf("doctor does not tell of %d:\n%s", pid, out)
		}
	}
	h.start("other", "others", 2, leaves("others"))
	h.alive("a bridge of another id has started", first)

	second := h.start("fs", "pids", 2, leaves("pids"))
	h.gone(first)
	now := h.pids("pids")[2:]
	h.alive("of the second", now)
	second.Process.Signal(syscall.SIGTERM)
	second.Wait()
	h.gone(now)
	if said := second.said.String(); !strings.Contains(said, "an earlier run of fs was killed") {
		t.Errorf("the second says\n%s", said)
	}
	if out, _ := h.command("doctor", "--id", "another").CombinedOutput(); strings.Contains(string(out), "killed") {
		t.Errorf("doctor tells of what is over:\n%s", out)
	}
	h.alive("of the bridge of another id", h.pids("others"))
}

// What is not that of a killed run is nobody's to end: the family of a bridge of the same id
// that lives, and a process with a mark of its own making.
func TestTheNextStartEndsNobodyElse(t *testing.T) {
	h := newFamilyHome(t)
	living := h.start("fs", "living", 2, leaves("living"))
	h.start("fs", "dead", 2, leaves("dead")).kill()
	names, err := filepath.Glob(filepath.Join(h.home, "mcpx-bridge", "family-fs-*.lock"))
	if err != nil || len(names) != 2 {
		t.Fatalf("the state directory has %q, %v", names, err)
	}
	stranger := exec.Command("sleep", "1000")
	stranger.SysProcAttr = h.cmd.SysProcAttr
	stranger.Env = []string{"_MCPX_FAMILY=" + strings.Repeat("0", 32), "X_MCPX_FAMILY=1"}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer stranger.Wait()
	defer stranger.Process.Kill()
	h.start("fs", "third", 2, leaves("third"))
	h.gone(h.pids("dead"))
	h.alive("of one that lives", append(h.pids("living"), living.Process.Pid))
	h.alive("a stranger", []int{stranger.Process.Pid})
}

// Who starts a bridge from a shell that a killed run's server had opened keeps that shell.
func TestTheNextStartEndsNotWhoStartedIt(t *testing.T) {
	h := newFamilyHome(t)
	// The shell outlives its bridge, then starts another from within.
	again := "echo $$ >> within; exec " + h.cmd.Path + ` run --stdio --id fs --gateway ws://127.0.0.1:1 -- sh -c 'echo $$ >> inner; exec server {}'`
	if err := os.WriteFile(filepath.Join(h.home, "again"), []byte(again), 0o644); err != nil {
		t.Fatal(err)
	}
	h.start("fs", "pids", 1, `(setsid sh -c 'echo $$ >> pids; while [ ! -e go ]; do sleep 0.02; done; (sleep 1000 | sh again) ; echo over >> end' </dev/null >/dev/null 2>&1 &); `).kill()
	if err := os.WriteFile(filepath.Join(h.home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h.await("the bridge from within", func() bool {
		_, err := os.Stat(filepath.Join(h.home, "inner"))
		return err == nil && len(h.pids("inner")) == 1
	})
	h.alive("the shell", h.pids("pids"))
	if _, err := os.Stat(filepath.Join(h.home, "end")); err == nil {
		t.Error("the bridge from within has ended")
	}
	h.start("fs", "next", 2, leaves("next")) // from without it is no reason to spare it
	for _, file := range []string{"pids", "within", "inner"} {
		h.gone(h.pids(file))
	}
}
