//go:build unix

package stdio

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// family starts a server that notes its pid and its grandchild's, waits until
// it is up, and returns them.
func family(t *testing.T, script stdiotest.Script) (*session, []int) {
	t.Helper()
	script.Pids = filepath.Join(t.TempDir(), "pids")
	s := serve(t, script)
	s.up()
	pids := stdiotest.Pids(t, script.Pids)
	for _, pid := range pids {
		if !stdiotest.Alive(pid) {
			t.Fatalf("process %d is not alive to begin with", pid)
		}
		t.Cleanup(func() { // only what the test has found to be left
			if stdiotest.Alive(pid) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
	return s, pids
}

func TestServerThatIgnoresEOFAndTermIsKilled(t *testing.T) {
	s, pids := family(t, stdiotest.Script{IgnoreEOF: true, IgnoreTerm: true})
	s.stop()
	if err := s.finished(); err != nil {
		t.Error(err)
	}
	if x := s.wantCause(CauseStopped); x.Signal != "killed" {
		t.Errorf("exit is %+v, want killed", x)
	}
	wantGone(t, pids...)
}

func TestServerThatIgnoresEOFGetsATerm(t *testing.T) {
	s, pids := family(t, stdiotest.Script{IgnoreEOF: true})
	s.stop()
	s.finished()
	if x := s.wantCause(CauseStopped); x.Signal != "terminated" {
		t.Errorf("exit is %+v, want terminated", x)
	}
	wantGone(t, pids...)
}

func TestGrandchildInTheGroupGoesWithTheServer(t *testing.T) {
	s, pids := family(t, stdiotest.Script{Grandchild: "group"})
	if len(pids) != 2 {
		t.Fatalf("pids are %v, want two", pids)
	}
	s.stop()
	s.finished()
	if x := s.wantCause(CauseStopped); len(x.Survivors) != 0 {
		t.Errorf("survivors are %v, want none", x.Survivors)
	}
	wantGone(t, pids...)
}

func TestGrandchildGoesWhenTheServerCrashes(t *testing.T) {
	s, pids := family(t, stdiotest.Script{Grandchild: "group"})
	s.tool("crash", "{}")
	s.wantCause(CauseExit)
	wantGone(t, pids...)
}

func TestGrandchildThatFledDoesNotBlockStopAndIsNamed(t *testing.T) {
	s, pids := family(t, stdiotest.Script{Grandchild: "session"})
	s.stop()
	if err := s.finished(); err != nil {
		t.Error(err)
	}
	x := s.wantCause(CauseStopped)
	wantGone(t, pids[0])
	if want := pids[1:]; runtime.GOOS == "linux" && !slices.Equal(x.Survivors, want) {
		t.Errorf("survivors are %v, want %v", x.Survivors, want)
	}
}

func TestGrandchildThatFledDoesNotHideACrash(t *testing.T) {
	s, _ := family(t, stdiotest.Script{Grandchild: "session"})
	s.tool("crash", "{}")
	if x := s.wantCause(CauseExit); x.Code != 3 {
		t.Errorf("exit is %+v, want status 3", x)
	}
}

func TestServerHasAGroupOfItsOwn(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	pid := s.up().PID
	group, err := syscall.Getpgid(pid)
	if err != nil || group != pid {
		t.Errorf("group of %d is %d (%v), want its own", pid, group, err)
	}
}

func TestServerDiesWithABridgeThatIsKilled(t *testing.T) {
	pidsFile := filepath.Join(t.TempDir(), "pids")
	script := stdiotest.Script{Pids: pidsFile, IgnoreTerm: true, IgnoreEOF: runtime.GOOS == "linux"}
	bridge := exec.Command(os.Args[0], append([]string{playParent}, stdiotest.Command(t, script)...)...)
	if err := bridge.Start(); err != nil {
		t.Fatal(err)
	}
	poll(t, "the server's pid", func() bool { return len(stdiotest.Pids(t, pidsFile)) == 1 })
	pids := stdiotest.Pids(t, pidsFile)
	bridge.Process.Kill()
	bridge.Wait()
	wantGone(t, pids...)
}

// The kernel ends the server with the thread that launched it, so that thread
// must not be one that goes first (RELIABILITY finding 5).
func TestServerOutlivesTheThreadsOfTheRuntime(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	s.up()
	for range 50 {
		done := make(chan struct{})
		go func() { // ends its thread
			runtime.LockOSThread()
			close(done)
		}()
		<-done
		runtime.GC()
	}
	s.call("echo", "{}")
	if i := slices.IndexFunc(s.all(), func(e entry) bool { return e.what == "down" }); i >= 0 {
		t.Errorf("the server went down: %+v", s.all()[i].exit)
	}
}

// Whoever counts which of its lines never left counts only its own. One of
// ours behind them made a call that had begun to leave look as if it had not.
func TestUnsentCountsNoLinesButThoseThatWerePut(t *testing.T) {
	s := begin(t, quick([]string{"sh", "-c", `read -r line
echo '{"jsonrpc":"2.0","id":"mcpx-init-1","result":{"protocolVersion":"2025-11-25"}}'
read -r line
head -c 1 >/dev/null
echo '[{}]'
exec sleep 60`}))
	s.up()
	s.put(`{"pad":"` + strings.Repeat("x", 4<<20) + `"}`)
	s.next("noise")
	s.server.Restart("test")
	if x := s.down(); x.Unsent != 1 {
		t.Errorf("%d lines are said not to have left whole; one was put", x.Unsent)
	}
}

// TestAStopIsNoWarning: a stop that was asked for is nothing to worry about,
// also when the server's own end is noticed first.
func TestAStopIsNoWarning(t *testing.T) {
	log, text := logged()
	o := quick(stdiotest.Command(t, stdiotest.Script{}))
	o.Log = log
	s := begin(t, o)
	hello := s.up()
	s.stop()
	syscall.Kill(hello.PID, syscall.SIGKILL)
	if err := s.finished(); err != nil {
		t.Error(err)
	}
	if said := text(); !strings.Contains(said, `msg="server was`) || strings.Contains(said, "WARN") {
		t.Errorf("the log says\n%s", said)
	}
}

// One who is in a hurry waits for no step of the ladder, be the server up or
// not.
func TestKillWaitsForNothing(t *testing.T) {
	for name, script := range map[string]stdiotest.Script{"up": {}, "not up": {Initialize: "ignore"}} {
		script.Pids = filepath.Join(t.TempDir(), "pids")
		script.Grandchild, script.IgnoreTerm, script.IgnoreEOF = "group", true, true
		o := quick(stdiotest.Command(t, script))
		o.Stop = StopTimes{Input: time.Hour, Term: time.Hour, Drain: time.Hour}
		s := begin(t, o)
		poll(t, name+": both processes", func() bool { return len(stdiotest.Pids(t, script.Pids)) == 2 })
		s.stop()
		s.server.Kill()
		s.finished()
		wantGone(t, stdiotest.Pids(t, script.Pids)...)
	}
}
