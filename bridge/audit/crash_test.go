package audit

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

func init() { children["append"] = appendUntilKilled }

// appendUntilKilled appends calls from four goroutines and prints the number
// of each record that it was told is on the disk.
func appendUntilKilled(args []string) int {
	l, found, err := Open(args[0], Options{MaxSize: 16 << 10, Lag: time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, c := range found.Calls {
		if c.ID != "" && !c.Ended {
			close := fmt.Sprintf(`{"event":"ended","call":%s,"outcome":"unknown"}`, c.ID)
			if !c.Started {
				close = strings.Replace(close, `"ended"`, `"rejected"`, 1)
			}
			if err := l.Append([]byte(close)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
	}
	fmt.Println("ready")
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				call := int(found.LastCall) + 1 + 4*i + w
				l.Append([]byte(decided(call, "allow")), []byte(started(call)))
				if i%3 == 0 && trySync(l) == nil {
					fmt.Printf("synced %d\n", call)
				}
				l.Append([]byte(ended(call)))
			}
		})
	}
	all.Wait()
	return 0
}

// TestKilledAtRandomMoments kills a process that appends, fifty times. After
// each recovery the log is whole and nothing that was acknowledged is missing.
func TestKilledAtRandomMoments(t *testing.T) {
	path := newPath(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	kills := 50
	if testing.Short() {
		kills = 5
	}
	var synced []string
	torn := 0
	for range kills {
		synced = append(synced, killAfter(t, path, time.Duration(dice.IntN(15_000))*time.Microsecond)...)
		l, found := open(t, path, Options{MaxSize: 16 << 10})
		if found.Torn > 0 {
			torn++
		}
		if found.Lost != "" || found.Fault != nil {
			t.Fatalf("%+v", found)
		}
		mustClose(t, l)
		verified(t, path)
	}
	text := []byte(dump(t, path))
	for _, call := range synced {
		if !bytes.Contains(text, fmt.Appendf(nil, `"event":"started","call":%s,`, call)) {
			t.Errorf("call %s was on the disk and is not there", call)
		}
	}
	t.Logf("%d calls were acknowledged as synced; %d tails were torn", len(synced), torn)
	if len(synced) == 0 {
		t.Error("nothing was acknowledged")
	}
}

// killAfter lets a process append for a while, and returns what it printed.
func killAfter(t *testing.T, path string, while time.Duration) (synced []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), "AUDIT_TEST_CHILD=append", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the child said %q", lines.Text())
	}
	kill := time.AfterFunc(while, func() { cmd.Process.Kill() })
	for lines.Scan() {
		if call, ok := strings.CutPrefix(lines.Text(), "synced "); ok {
			synced = append(synced, call)
		}
	}
	kill.Stop()
	cmd.Process.Kill()
	cmd.Wait()
	return synced
}
