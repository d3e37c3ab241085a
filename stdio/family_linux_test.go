package stdio

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// sweeping begins a process of ours that runs a server and sweeps behind it. The
// server writes the pids of all that it is and starts to a file.
func sweeping(t *testing.T, command string) (us *exec.Cmd, pids func() []int) {
	t.Helper()
	return sweepingBehind(t, stdiotest.Script{}, command)
}

// sweepingBehind is sweeping with a server that behaves as the script has it.
func sweepingBehind(t *testing.T, script stdiotest.Script, command string) (us *exec.Cmd, pids func() []int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pids")
	script.Pids = file // written when it plays: what ends it before is no test of its script
	server := strings.Join(stdiotest.Command(t, script), "' '")
	us = exec.Command(os.Args[0], playSweeper, "sh", "-c", strings.ReplaceAll(command, "PIDS", file)+"\nexec '"+server+"'")
	us.Stderr = os.Stderr
	if err := us.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		us.Process.Kill()
		us.Wait()
		for _, pid := range stdiotest.Pids(t, file) {
			syscall.Kill(pid, syscall.SIGKILL) // a test that failed leaves nothing either
		}
	})
	return us, func() []int { return stdiotest.Pids(t, file) }
}

// fleeing are ways in which something that a server starts gets away from it.
var fleeing = map[string]string{
	"a session of its own":         `setsid sh -c 'echo $$ >> PIDS; exec sleep 1000' &`,
	"a daemon":                     `(setsid sh -c 'echo $$ >> PIDS; exec sleep 1000' &) &`,
	"a daemon without environment": `(setsid env -i PATH="$PATH" sh -c 'echo $$ >> PIDS; exec sleep 1000' </dev/null >/dev/null 2>&1 &) &`,
	"one that ignores TERM":        `(setsid sh -c 'trap "" TERM; echo $$ >> PIDS; while :; do sleep 1000; done' &) &`,
	"a family":                     `(setsid sh -c 'echo $$ >> PIDS; setsid sh -c "echo \$\$ >> PIDS; exec sleep 1000" & exec sleep 1000' &) &`,
}

// Seen before the mend: each outlived a clean stop (FINDINGS M10).
func TestWhatFledTheServerIsEndedWithIt(t *testing.T) {
	for name, command := range fleeing {
		t.Run(name, func(t *testing.T) {
			us, pids := sweeping(t, command)
			many := 2 + strings.Count(name, "family")
			poll(t, "all processes", func() bool { return len(pids()) == many })
			us.Process.Signal(syscall.SIGTERM)
			if err := us.Wait(); err != nil {
				t.Error(err)
			}
			wantGone(t, pids()...)
		})
	}
}

// Whatever a server started is asked to stop before it is killed, as the server is: each
// writes down the TERM that reached it. It is so if the server goes by itself, and if
// nothing but a KILL ends it; then the server still runs when they are asked (FINDINGS T4).
// Seen before the mend: what had stayed in the group of one that went was killed unasked.
func TestWhatAServerStartedIsAskedBeforeAnybodyIsKilled(t *testing.T) {
	for name, script := range map[string]stdiotest.Script{
		"of one that goes":  {},
		"of one that stays": {IgnoreEOF: true, IgnoreTerm: true},
	} {
		note := "echo asked"
		if script.IgnoreTerm {
			note = `grep -q "^State:[[:space:]]*[RSD]" /proc/$SERVER/status && echo asked`
		}
		for way, start := range map[string]string{"its group": "%s &", "a session of its own": "setsid %s &", "a daemon": "(setsid %s &) &"} {
			t.Run(name+", "+way, func(t *testing.T) {
				asked := filepath.Join(t.TempDir(), "asked")
				note := "ask() { " + note + " > " + asked + "; exit; }; "
				us, pids := sweepingBehind(t, script, "export SERVER=$$; "+fmt.Sprintf(start, `sh -c '`+note+`trap ask TERM; echo $$ >> PIDS; while :; do sleep 1000 & wait; done'`))
				poll(t, "both processes", func() bool { return len(pids()) == 2 })
				us.Process.Signal(syscall.SIGTERM)
				if err := us.Wait(); err != nil {
					t.Error(err)
				}
				wantGone(t, pids()...)
				if text, err := os.ReadFile(asked); err != nil || string(text) != "asked\n" {
					t.Errorf("it was killed and not asked before: %q, %v", text, err)
				}
			})
		}
	}
}

func TestWhatFledTheServerIsEndedWhenItStartsAgain(t *testing.T) {
	us, pids := sweeping(t, fleeing["a daemon"])
	poll(t, "both processes", func() bool { return len(pids()) == 2 })
	first := pids()
	us.Process.Signal(syscall.SIGHUP)
	poll(t, "both processes again", func() bool { return len(pids()) == 4 })
	wantGone(t, first...)
	for _, pid := range pids()[2:] {
		if !stdiotest.Alive(pid) {
			t.Errorf("%d of the second server is gone", pid)
		}
	}
	us.Process.Signal(syscall.SIGTERM)
	us.Wait()
	wantGone(t, pids()...)
}

// Who ends by itself, adopted, stays no zombie of ours.
func TestAdoptedChildrenAreReaped(t *testing.T) {
	us, pids := sweeping(t, `for i in 1 2 3; do (setsid sh -c 'echo $$ >> PIDS' &) ; done`)
	poll(t, "all processes", func() bool { return len(pids()) == 4 })
	poll(t, "no zombie", func() bool {
		for _, p := range processes() {
			if p.parent == us.Process.Pid && p.ended {
				return false
			}
		}
		return true
	})
}

func TestAProcessIsReadWhateverItsNameIs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a) Z 1 (b")
	if err := os.Symlink("/bin/sleep", name); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	p, ok := processAt(strconv.Itoa(cmd.Process.Pid))
	if !ok || p.parent != os.Getpid() || p.ended || p.began == 0 {
		t.Errorf("read %+v, %v", p, ok)
	}
	if got := fmt.Sprint(descendants([]procEntry{{pid: 1}, {pid: 2, parent: 1}, {pid: 3, parent: 2, ended: true}, {pid: 4, parent: 3}, {pid: 5}}, []procEntry{{pid: 2}})); got != fmt.Sprint([]procEntry{{pid: 2, parent: 1}, {pid: 4, parent: 3}}) {
		t.Errorf("the family is %s", got)
	}
}

// TestWhoWaitsForTheServersEndKeepsNobodyFromRunning: a thread that is in waitid(2) has the
// right to run Go code until the runtime takes it away.
func TestWhoWaitsForTheServersEndKeepsNobodyFromRunning(t *testing.T) {
	_, pids := family(t, stdiotest.Script{})
	threads, _ := filepath.Glob("/proc/self/task/*/syscall")
	if len(threads) == 0 {
		t.Skip("the system does not say where a thread is")
	}
	for _, path := range threads {
		in, err := os.ReadFile(path)
		if err == nil && strings.HasPrefix(string(in), fmt.Sprintf("%d %#x %#x ", unix.SYS_WAITID, unix.P_PID, pids[0])) {
			t.Errorf("a thread waits for the server's end: %s", in)
		}
	}
}

// When a server is gone its number may be somebody else's: whoever that had started was killed by
// Kill, which a second signal brings about.
func TestWhoHasTheNumberOfAServerNowIsLetBe(t *testing.T) {
	other := exec.Command("sh", "-c", "exec 3<&0; setsid cat <&3 & wait")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer in.Close()
	lines := bufio.NewReader(out)
	lives := func() {
		t.Helper()
		io.WriteString(in, "x\n")
		if said, err := lines.ReadString('\n'); said != "x\n" {
			t.Errorf("what it had started says %q (%v)", said, err)
		}
	}
	lives()
	s, pid := New(Options{Args: other.Args, Sweep: true}), other.Process.Pid
	s.last.Store(&child{s: s, cmd: other, pid: pid, group: group{leader: pid, reaped: true}})
	s.Kill()
	lives()
}
