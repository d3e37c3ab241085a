//go:build chrome && linux

package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/examples/chromium"
)

// A page that is open for PAGE_MINUTES while a question comes each second, and is answered,
// takes no more memory at its end than at its beginning, and neither does the bridge: real
// processes, a real browser. It is no part of make test (make load-page).
func TestPageUnderLoad(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("PAGE_MINUTES"), 64)
	if err != nil || minutes <= 0 {
		t.Skip("PAGE_MINUTES says for how long")
	}
	l := startLoad(t)
	l.tab.logIn()
	l.tab.live()
	var parts sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(minutes*float64(time.Minute)))
	parts.Go(func() { l.ask(ctx) })
	parts.Go(func() { l.answer(ctx) })
	var all []usage
	for tick := time.NewTicker(10 * time.Second); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-tick.C:
			u := l.measure()
			all = append(all, u)
			t.Logf("%s: %d asked, %d answered; bridge %d KiB; page %d KiB of script, %d nodes, %d listeners", u.at.Format(time.TimeOnly), l.asked.Load(), l.allowed.Load(), u.bridge, u.heap>>10, u.nodes, u.listeners)
		}
	}
	stop()
	parts.Wait()
	third := len(all) / 3
	if third == 0 || l.allowed.Load() < l.asked.Load()*9/10-10 {
		t.Fatalf("%d of %d were answered, seen %d times", l.allowed.Load(), l.asked.Load(), len(all))
	}
	first, last := mostOf(all[:third]), mostOf(all[len(all)-third:])
	t.Logf("at most, early: %+v", first)
	t.Logf("at most, late:  %+v", last)
	if last.bridge > first.bridge+first.bridge/5+8<<10 || last.heap > 2*first.heap+1<<20 || last.nodes > 2*first.nodes || last.listeners > 2*first.listeners {
		t.Error("it grows")
	}
}

// A usage is what is in use at a time.
type usage struct {
	at                     time.Time
	bridge                 int64 // KiB resident
	heap, nodes, listeners int64 // of the page, after it was tidied up
}

func mostOf(all []usage) (m usage) {
	for _, u := range all {
		m = usage{u.at, max(m.bridge, u.bridge), max(m.heap, u.heap), max(m.nodes, u.nodes), max(m.listeners, u.listeners)}
	}
	return m
}

// A load is a bridge with a page, and a tab that looks at it.
type load struct {
	t              *testing.T
	program        string
	env            []string
	bridge         *exec.Cmd
	link, base     string
	tab            *tab
	in             inbox.Inbox
	asked, allowed atomic.Int64
}

func startLoad(t *testing.T) *load {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir, "../../../cmd/mcpx-bridge", "../../../examples/notes-server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l := &load{t: t, program: filepath.Join(dir, "mcpx-bridge"), env: append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "MCPX_LISTEN=127.0.0.1:0")} // a place of its own
	l.bridge = exec.Command(l.program, "run", "--json", "--inbox", "127.0.0.1:0", "--", filepath.Join(dir, "notes-server"))
	l.bridge.Env = l.env
	out, err := l.bridge.StdoutPipe()
	if err == nil {
		err = l.bridge.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.bridge.Process.Signal(syscall.SIGTERM) // an interrupt is ignored by what was started in the background
		l.bridge.Wait()
	})
	var ready struct{ Event, Inbox, Control string }
	for lines := bufio.NewScanner(out); ready.Event != "ready"; {
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &ready) != nil {
			t.Fatalf("the bridge says %s", lines.Text())
		}
	}
	go func() { // whatever it says later
		for lines := bufio.NewScanner(out); lines.Scan(); {
		}
	}()
	l.link, l.base = ready.Inbox, regexp.MustCompile(`^http://[^/]+/[^/]+`).FindString(ready.Inbox)
	if l.in, err = socket.Dial(t.Context(), ready.Control); err != nil {
		t.Fatal(err)
	}
	l.tab = &tab{t, chromium.Tab(t, chromium.Open(t)), l.base, l.link}
	return l
}

// ask makes a call each second until ctx ends.
func (l *load) ask(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n := l.asked.Add(1)
			call := exec.CommandContext(ctx, l.program, "call", "--id", fmt.Sprint("bob-", n%10), "notes", "add_note", fmt.Sprintf("text=note %d", n))
			call.Env = l.env
			calls.Go(func() {
				if out, err := call.CombinedOutput(); err != nil && ctx.Err() == nil {
					l.t.Errorf("%v: %s", err, out)
				}
			})
		}
	}
}

// answer allows what has waited for some seconds.
func (l *load) answer(ctx context.Context) {
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		list, _ := l.in.List(ctx, false) // what cannot be had now is there in a second
		for _, q := range list {
			v, err := l.in.Show(ctx, q.ID)
			if err != nil || time.Since(q.Asked) < 5*time.Second {
				continue
			}
			if o, err := l.in.Decide(ctx, inbox.Decide(&v, &approval.Reply{Allow: true})); err == nil && o.Outcome == "allowed" {
				l.allowed.Add(1)
			}
		}
	}
}

func (l *load) measure() (u usage) {
	l.t.Helper()
	u.at = time.Now()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.bridge.Process.Pid))
	if m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status); err == nil && m != nil {
		u.bridge, _ = strconv.ParseInt(string(m[1]), 10, 64)
	}
	if _, err := chromedp.Call(l.tab.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		l.t.Fatal(err)
	}
	c, err := chromedp.Call(l.tab.ctx, memory.GetDOMCounters, cdp.Empty{})
	if err != nil {
		l.t.Fatal(err)
	}
	h, err := chromedp.Call(l.tab.ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		l.t.Fatal(err)
	}
	u.nodes, u.listeners, u.heap = c.Nodes, c.JsEventListeners, int64(h.UsedSize)
	return u
}
