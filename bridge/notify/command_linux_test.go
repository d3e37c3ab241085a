package notify_test

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// tells has a hall told of by a command until the test ends, or stop is called.
func tells(t *testing.T, h *inboxtest.Hall, command string, within time.Duration) (said log, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said = make(log, 16)
	done := make(chan struct{})
	watching := watchers{h, make(chan struct{}, 1)}
	go func() {
		defer close(done)
		notify.Run(ctx, watching, notify.Options{Command: command, Env: os.Environ(), Log: slog.New(slog.NewTextHandler(said, nil)), Within: within})
	}()
	<-watching.begun
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return said, stop
}

// A pipe is a named one: the commands' way to the test.
type pipe struct {
	*testing.T
	path  string
	lines *bufio.Reader
}

func newPipe(t *testing.T) pipe {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0) // so that it has no end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return pipe{t, path, bufio.NewReader(f)}
}

// hears waits for what the next command says.
func (p pipe) hears() string {
	p.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.Fatal(err)
	}
	return line
}

func TestTheCommandGetsThePublicViewAsOneObject(t *testing.T) {
	const secret = "hunter2"
	h := inboxtest.New("fs")
	h.Redact = func(args []byte) []byte { return []byte(strings.ReplaceAll(string(args), secret, "[redacted]")) }
	h.Command = "server --password " + secret
	p := newPipe(t)
	tells(t, h, "cat >'"+p.path+"'; echo never seen", 0)
	id := h.Ask(inboxtest.Write(`{"path":"/a\u001b$(id)","password":"` + secret + `"}`))
	line := p.hears()
	var v approval.View
	if err := json.Unmarshal([]byte(line), &v); err != nil || strings.Count(line, "\n") != 1 {
		t.Fatalf("%v: %s", err, line)
	}
	if v.ID != id || v.Tool != "write_file" || v.From != "agent-a" || v.Bridge != "fs" || len(v.Arguments) != 2 {
		t.Errorf("%+v", v)
	}
	if strings.Contains(line, secret) || strings.Contains(line, "\x1b") {
		t.Errorf("it tells %s", line)
	}
}

// Commands that hang are in nobody's way: the question is answered, and others are told of
// when they have been killed.
func TestACommandThatHangsIsKilled(t *testing.T) {
	h, p := inboxtest.New("fs"), newPipe(t)
	said, _ := tells(t, h, "cat >'"+p.path+"'; sleep 1000; echo", 3*time.Second)
	var ids []string
	for range 6 { // more than run at one time
		ids = append(ids, h.Ask(inboxtest.Write(`{}`)))
	}
	for range ids {
		p.hears()
	}
	for _, id := range ids {
		v, _ := h.Question(id)
		if _, err := h.Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Allow: true})); err != nil {
			t.Error(err)
		}
	}
	if line := <-said; !strings.Contains(line, "did not end within 3s, and was killed") {
		t.Errorf("said %s", line)
	}
}

// The end of the bridge is the end of its commands.
func TestWhatRunsEndsWithTheBridge(t *testing.T) {
	h, p := inboxtest.New("fs"), newPipe(t)
	_, stop := tells(t, h, "cat >'"+p.path+"'; sleep 1000; echo", time.Hour)
	h.Ask(inboxtest.Write(`{}`))
	p.hears()
	stop()
}

func TestACommandThatFailsIsSaidOnce(t *testing.T) {
	h, p := inboxtest.New("fs"), newPipe(t)
	said, stop := tells(t, h, "cat >'"+p.path+"'; exit 3", 0)
	for range 3 {
		h.Ask(inboxtest.Write(`{}`))
		p.hears()
	}
	if line := <-said; !strings.Contains(line, "the command of --notify fails") || !strings.Contains(line, "exit status 3") {
		t.Errorf("said %s", line)
	}
	stop()
	if len(said) > 0 {
		t.Errorf("and again: %s", <-said)
	}
}

// A flood lets a watcher fall behind, who watches again then. What was asked meanwhile is told of,
// and nothing twice.
func TestWhatWasAskedWhileNobodyWatchedIsToldOf(t *testing.T) {
	h, p := inboxtest.New("fs"), newPipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	flood, fell := make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		notify.Run(ctx, &fallsBehind{Hall: h, flood: flood, fell: fell}, notify.Options{Command: "cat >'" + p.path + "'", Env: os.Environ(), Log: slog.New(slog.DiscardHandler)})
	}()
	defer func() { cancel(); <-done }()
	<-fell
	first := h.Ask(inboxtest.Write(`{"n":1}`))
	if line := p.hears(); !strings.Contains(line, first) {
		t.Errorf("%s", line)
	}
	close(flood)
	<-fell
	second := h.Ask(inboxtest.Write(`{"n":2}`))
	if line := p.hears(); !strings.Contains(line, second) {
		t.Errorf("%s", line)
	}
}

// fallsBehind is a hall of which the first watcher falls behind, and the second when a flood comes.
type fallsBehind struct {
	*inboxtest.Hall
	flood <-chan struct{}
	fell  chan<- struct{}
	times int
}

func (f *fallsBehind) Watch(ctx context.Context) iter.Seq2[inbox.Event, error] {
	f.times++
	switch f.times {
	case 1:
		return func(yield func(inbox.Event, error) bool) {
			yield(inbox.Event{}, nil)
			f.fell <- struct{}{}
		}
	case 2:
		watching, cancel := context.WithCancel(ctx)
		return func(yield func(inbox.Event, error) bool) {
			go func() { <-f.flood; cancel() }()
			for e, err := range f.Hall.Watch(watching) {
				if !yield(e, err) {
					return
				}
			}
			f.fell <- struct{}{}
		}
	}
	return f.Hall.Watch(ctx)
}

// What was answered before its turn came is not told of.
func TestWhatIsAnsweredIsNotToldOf(t *testing.T) {
	h, p := inboxtest.New("fs"), newPipe(t)
	gate := newPipe(t)
	tells(t, h, "cat >'"+p.path+"'; read x <'"+gate.path+"'", time.Hour)
	for range 4 {
		h.Ask(inboxtest.Write(`{}`))
		p.hears()
	}
	answered := h.Ask(inboxtest.Write(`{"n":5}`))
	h.Withdraw(answered)
	open := h.Ask(inboxtest.Write(`{"n":6}`))
	if err := os.WriteFile(gate.path, []byte("go on\n"), 0); err != nil {
		t.Fatal(err)
	}
	if line := p.hears(); !strings.Contains(line, open) || strings.Contains(line, answered) {
		t.Errorf("%s", line)
	}
}

// When a server ends, the bridge ends what that has left running, and reaps it. A command of the
// owner's is no part of that, and how it ended is its own notifier's to learn.
func TestTheEndOfAServerIsNotThatOfACommand(t *testing.T) {
	h, p, gate := inboxtest.New("fs"), newPipe(t), newPipe(t)
	said, _ := tells(t, h, "cat >'"+p.path+"'; read x <'"+gate.path+"'; echo lived >'"+p.path+"'", time.Hour)
	h.Ask(inboxtest.Write(`{}`))
	p.hears()
	stdio.New(stdio.Options{Args: []string{"false"}, Sweep: true}).Run(t.Context(), deaf{})
	if err := os.WriteFile(gate.path, []byte("go on\n"), 0); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() { lines <- p.hears() }()
	select {
	case <-lines:
	case line := <-said:
		t.Error(line)
		os.WriteFile(p.path, []byte("\n"), 0)
		<-lines
	}
}

// deaf hears nothing of a server.
type deaf struct{}

func (deaf) ServerUp(stdio.Hello)          {}
func (deaf) ServerMessage(jsonrpc.Message) {}
func (deaf) ServerNoise(stdio.Noise)       {}
func (deaf) ServerDown(stdio.Exit)         {}
func (deaf) ServerIdle()                   {}
