package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// The audit log is on a disk of 32 KiB. When that is full nothing runs any more
// and callers hear so; when there is room, calls run again without a restart.
func TestOnAFullDiskNothingRunsUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	g := openStage(t, d1)
	s, makeRoom, end := onTinyDisk(t, g, askRules)
	p := play{g, s}
	p.request("e-carol", "carol", call("7", "write_file", writeArguments))
	open := p.poses("alice", anyQuestion)

	served, full := 0, p.refusalOf(d1, "e-carol", "7", "write_file")
	for n := 0; ; n++ {
		if n == 500 {
			t.Fatalf("the disk does not fill up\n%s", s.about())
		}
		env := fmt.Sprintf("fill-%d", n)
		p.request(env, "bob", call("1", "read_file", `{"path":"/a"}`))
		frame := g.next()
		if g.names.mismatch(d1.reply("bob", env, "tools/call", "read_file", `{"result":"*"}`), frame) == "" {
			served++
			continue
		}
		// It is refused, and so is what waits for alice.
		wanted := []string{p.refusalOf(d1, env, "1", "read_file"), full, p.withdrawn(open)}
		for len(wanted) > 0 {
			if strings.Contains(frame, `"audit":"incomplete"`) && g.names.mismatch(d1.reply("bob", env, "tools/call", "read_file", `{"result":"*"}`), frame) == "" {
				served++ // it was the end of a call for which there was no room: its start is on record
				wanted[0] = p.refusalOf(d1, "last", "1", "read_file")
				p.request("last", "bob", call("1", "read_file", `{"path":"/a"}`))
				frame = g.next()
			}
			rest := wanted[:0:0]
			for _, w := range wanted {
				if g.names.mismatch(w, frame) != "" {
					rest = append(rest, w)
				}
			}
			if len(rest) == len(wanted) {
				g.fail("this is none of %q: %s", wanted, frame)
			}
			if wanted = rest; len(wanted) > 0 {
				frame = g.next()
			}
		}
		break
	}
	for i := range 5 {
		p.request(fmt.Sprint("still-", i), "bob", call("1", "read_file", `{"path":"/a"}`))
		p.expect(p.refusalOf(d1, fmt.Sprint("still-", i), "1", "read_file"))
		p.request(fmt.Sprint("asks-", i), "bob", call("1", "write_file", writeArguments))
		p.expect(p.refusalOf(d1, fmt.Sprint("asks-", i), "1", "write_file"))
	}
	p.decides("alice", open, approve) // too late
	if n := s.ran(); n != served {
		t.Errorf("the server was given %d calls; %d were answered", n, served)
	}

	makeRoom()
	p.untilServed()
	served = s.ran()
	p.writes("dave")
	p.decides("alice", p.poses("alice", anyQuestion), approve)
	p.served("dave", "write_file")
	if n := s.ran(); n != served+1 {
		t.Errorf("the server was given %d calls after %d", n, served)
	}
	end()
}

// A call that ran while the disk filled up has its result, which says that the
// record of it is not whole; the record is made up for as soon as there is room.
func TestAResultWhoseEndCannotBeRecordedSaysSo(t *testing.T) {
	t.Parallel()
	g := openStage(t, d1)
	s, makeRoom, end := onTinyDisk(t, g, "version: 1\ndefault: allow\n")
	p := play{g, s}
	file := filepath.Join(t.TempDir(), "now")
	p.request("long", "carol", call("7", "until", fmt.Sprintf(`{"path":%q}`, file)))
	s.await(`{"event":"started","env":"long"}`)
	for n := 0; ; n++ {
		if n == 500 {
			t.Fatalf("the disk does not fill up\n%s", s.about())
		}
		env := fmt.Sprintf("fill-%d", n)
		p.request(env, "bob", call("1", "read_file", `{"path":"/a"}`))
		if g.names.mismatch(p.refusalOf(d1, env, "1", "read_file"), g.next()) == "" {
			break
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g.expect(d1.reply("carol", "long", "tools/call", "until", `{"id":7,"!error":0,"result":{"content":"*","_meta":{"audit":"incomplete"}}}`))
	makeRoom()
	p.untilServed()
	end()
}

// refusalOf is how a call ends that cannot be put on record.
func (p play) refusalOf(d tongue, env, id, tool string) string {
	return fmt.Sprintf(`{"correlation_id":%q,"kind":%q,"payload":{"id":%s,"!result":0,"error":{"code":-31009,"message":"*","data":{"reason":"audit_unavailable","executed":"no"}}}}`,
		env, d.kind("response", "tools/call", tool), id)
}

// untilServed calls until calls are served: the log tries every second whether
// there is room.
func (p play) untilServed() {
	p.stage.t.Helper()
	late := time.Now().Add(patience)
	for n := 0; ; n++ {
		env := fmt.Sprintf("room-%d", n)
		p.request(env, "bob", call("1", "read_file", `{"path":"/a"}`))
		frame := p.next()
		if p.names.mismatch(p.d.reply("bob", env, "tools/call", "read_file", `{"result":"*"}`), frame) == "" {
			return
		}
		if p.names.mismatch(p.refusalOf(p.d, env, "1", "read_file"), frame) != "" || time.Now().After(late) {
			p.fail("there is room, and calls are not served: %s", frame)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// onTinyDisk starts a bridge as a process of its own in a mount namespace of its
// own. makeRoom removes what fills its disk; end ends it, and checks its log.
func onTinyDisk(t *testing.T, g *stage, policy string) (s *sidecar, makeRoom, end func()) {
	t.Helper()
	s = &sidecar{t: t, events: newDiary(), stderr: newDiary(), record: filepath.Join(t.TempDir(), "given")}
	g.side = s
	disk, home := t.TempDir(), t.TempDir()
	rules := ruled(t, policy).rules[1]
	program, err := exec.LookPath("tinydisk")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{disk, "run", "--json", "--gateway", g.url, "--topic", "t1", "--id", "fs", "--policy", rules, "--audit", filepath.Join(disk, "fs.jsonl"), "--"},
		stdiotest.Command(t, stdiotest.Script{Record: s.record})...)
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "GORACE=atexit_sleep_ms=0")
	cmd.Stdout, cmd.Stderr = s.events, s.stderr
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	tell, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, syscall.EPERM) {
		t.Skip("user namespaces are not to be had here")
	} else if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { tell.Close() })
	select {
	case g.at = <-g.dialled:
	case err := <-ended:
		if strings.Contains(s.stderr.text(), "SKIP") {
			t.Skip(s.stderr.text())
		}
		t.Fatalf("%v\n%s", err, s.about())
	case <-time.After(patience):
		t.Fatalf("the bridge does not connect\n%s", s.about())
	}
	g.greet("bob", "alice", "carol")
	s.ready()
	g.settle()
	return s, func() { io.WriteString(tell, "room\n") }, func() {
		tell.Close()
		if err := <-ended; err != nil {
			t.Errorf("%v\n%s", err, s.about())
		}
	}
}

// playTinyDisk is the program "tinydisk DIR ARG…": it mounts a small disk at DIR
// and runs the bridge, which keeps its audit there. A line on stdin makes room,
// the end of stdin ends the bridge.
func playTinyDisk() {
	if err := tinyDisk(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "tinydisk:", err)
		os.Exit(1)
	}
}

func tinyDisk(disk string, args []string) error {
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=32k,mode=0700"); err != nil {
		return fmt.Errorf("SKIP: %w", err)
	}
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 12<<10), 0o600); err != nil {
		return err
	}
	cmd := exec.Command("mcpx-bridge", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := os.Remove(ballast); err != nil {
			return err
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		return err
	}
	records, err := recordsIn(filepath.Join(disk, "fs.jsonl"))
	if open := unfinished(records); err != nil || len(open) > 0 {
		return fmt.Errorf("the log has no last word on %q (%v)", open, err)
	}
	r, err := audit.VerifyLog(filepath.Join(disk, "fs.jsonl"), audit.Checks{})
	if err == nil && (!r.OK || len(r.Unfinished) > 0 || r.Recoveries == 0) { // more than one where a short record still had room
		err = fmt.Errorf("the log: %+v %v", r, r.Fault)
	}
	return err
}

// A record that cannot be kept from the start is a start that fails.
func TestADiskThatIsFullFromTheStartIsAnError(t *testing.T) {
	g := openStage(t, d1)
	s := launch{rules: []string{"--allow", "*", "--audit", "/dev/full"}}.start(t, g.url)
	if code := s.wait(); code != exitAudit {
		t.Errorf("exit %d, want %d\n%s", code, exitAudit, s.about())
	}
	if text := s.stderr.text(); !strings.Contains(text, "/dev/full") || !strings.Contains(text, "--audit FILE") {
		t.Errorf("it says %s", text)
	}
	if s.ran() != 0 || g.upgrades.Load() != 0 {
		t.Error("it joined nonetheless")
	}
}

// Whoever starts bridges and looks at how they end is not told that all is well when
// the end of the record is missing.
func TestALogThatCannotBeClosedIsNoGoodEnd(t *testing.T) {
	l := newLineage(t, readsAllowed)
	k, p := l.start()
	p.request("e1", "bob", call("1", "read_file", `{"path":"/a"}`))
	p.expect(d1.reply("bob", "e1", "tools/call", "read_file", `{"id":1,"result":"*"}`))
	if err := unix.Prlimit(k.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{}, nil); err != nil {
		t.Fatal(err)
	}
	l.end(k, syscall.SIGTERM)
	if code := k.cmd.ProcessState.ExitCode(); code != exitAudit || !strings.Contains(k.stderr.text(), "mcpx-bridge: the audit log was not closed") {
		t.Errorf("exit %d, stderr\n%s", code, k.stderr.text())
	}
}
