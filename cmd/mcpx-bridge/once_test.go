package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A lineage is one bridge after the other, each a process of its own, that keep
// one record.
type lineage struct {
	*stage
	home   string
	policy string
	given  string // what their servers were given
}

func newLineage(t *testing.T, rules string) *lineage {
	home := t.TempDir()
	l := &lineage{stage: openStage(t, d1), home: home, policy: filepath.Join(home, "rules.yaml"), given: filepath.Join(home, "given")}
	if err := os.WriteFile(l.policy, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// start starts the next of them, ready to serve.
func (l *lineage) start() (*killable, play) {
	l.t.Helper()
	program, err := exec.LookPath("mcpx-bridge")
	if err != nil {
		l.t.Fatal(err)
	}
	k := &killable{sidecar: &sidecar{t: l.t, events: newDiary(), stderr: newDiary(), record: l.given}}
	args := append([]string{"run", "--json", "--gateway", l.url, "--topic", "t1", "--id", "fs", "--policy", l.policy, "--"},
		stdiotest.Command(l.t, stdiotest.Script{Record: l.given})...)
	k.cmd = exec.Command(program, args...)
	k.cmd.Env = append(os.Environ(), "HOME="+l.home, "XDG_STATE_HOME="+l.home, "GORACE=atexit_sleep_ms=0")
	k.cmd.Stdout, k.cmd.Stderr = k.events, k.stderr
	k.cmd.WaitDelay = time.Second // its server may hold them a little longer
	if err := k.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { k.cmd.Process.Kill(); k.cmd.Wait() })
	l.side = k.sidecar
	l.accept()
	l.greet("bob", "alice", "carol")
	k.ready()
	l.settle()
	return k, play{l.stage, k.sidecar}
}

// end ends one of them, well or not.
func (l *lineage) end(k *killable, with os.Signal) {
	l.t.Helper()
	if err := k.cmd.Process.Signal(with); err != nil {
		l.t.Fatal(err)
	}
	k.cmd.Wait()
	l.gone()
}

// everyEnd runs a test once for each way in which a bridge may end.
func everyEnd(t *testing.T, test func(t *testing.T, with os.Signal)) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals here")
	}
	for name, with := range map[string]os.Signal{"told": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, with)
		})
	}
}

const readsAllowed = "version: 1\ndefault: deny\nrules:\n - {name: reads, allow: ['read_*']}\n"

func TestARequestIsKnownAgainByTheNextBridge(t *testing.T) {
	everyEnd(t, func(t *testing.T, with os.Signal) {
		l := newLineage(t, readsAllowed)
		first, p := l.start()
		p.request("e1", "bob", call("1", "read_file", `{"path":"/a"}`))
		p.expect(d1.reply("bob", "e1", "tools/call", "read_file", `{"id":1,"result":"*"}`))
		l.end(first, with)

		_, p = l.start()
		p.request("e1", "bob", call("1", "read_file", `{"path":"/a"}`))
		p.quiet()
		p.s.dropped("duplicate_envelope")
		p.request("e1", "bob", call("1", "read_file", `{"path":"/b"}`))
		p.quiet()
		p.s.dropped("duplicate_id_different_body")
		if n := p.s.ran(); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}
