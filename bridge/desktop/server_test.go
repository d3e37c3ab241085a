package desktop_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// A hall is a topic with one peer, which answers every request at once or, if
// its method is held back, when told to.
type hall struct {
	server *desktop.Server
	hold   string

	mu   sync.Mutex
	held []desktop.Ask
	gone []desktop.Cancel
	yes  []desktop.Decide
	more chan struct{} // gets something whenever something is held
}

func (h *hall) Carry(a desktop.Act) desktop.Event {
	switch a := a.(type) {
	case desktop.Ask:
		return h.ask(a)
	case desktop.Cancel:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.gone = append(h.gone, a)
	case desktop.Decide:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.yes = append(h.yes, a)
		return desktop.Decided{ID: a.ID}
	}
	return nil
}

func (h *hall) ask(a desktop.Ask) desktop.Event {
	if a.Method == h.hold {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held = append(h.held, a)
		h.more <- struct{}{}
		return nil
	}
	switch a.Method {
	case "tools/list":
		return desktop.Answered{Ref: a.Ref, Result: []byte(list(tool("echo")))}
	case "tools/call":
		return desktop.Answered{Ref: a.Ref, Result: fmt.Appendf(nil, `{"content":[],"params":%s}`, a.Params)}
	}
	return desktop.Answered{Ref: a.Ref, Err: []byte(`{"code":-32601,"message":"no"}`)}
}

// A line to a client, and the server behind it.
type line struct {
	*hall
	in   io.WriteCloser
	raw  io.Reader
	out  *bufio.Reader // of raw
	ends chan error    // what Read and Close came to
}

// connect has a server speak over real pipes.
func connect(t *testing.T, hold string) *line {
	t.Helper()
	serverIn, in := pipe(t)
	out, serverOut := pipe(t)
	h := &hall{hold: hold, more: make(chan struct{}, 1000)}
	h.server = desktop.NewServer(desktop.Config{NewID: func() string { return "ticket" }, Patience: time.Hour}, h, desktop.Options{Out: serverOut})
	h.server.Step(desktop.Seated{Me: "me", Topic: "t", Peers: []desktop.Peer{{ID: "fs"}}})
	l := &line{hall: h, in: in, raw: out, out: bufio.NewReader(out), ends: make(chan error, 2)}
	go func() {
		l.ends <- h.server.Read(t.Context(), serverIn)
		l.ends <- h.server.Close(context.Background())
		serverOut.Close()
	}()
	t.Cleanup(func() { in.Close() })
	return l
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

func (l *line) next(t *testing.T) string {
	t.Helper()
	text, err := l.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (l *line) over(t *testing.T) {
	t.Helper()
	for range 2 {
		select {
		case err := <-l.ends:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("it does not end")
		}
	}
}

func TestAServerAnswersWhatWasAskedBeforeTheEnd(t *testing.T) {
	l := connect(t, "")
	fmt.Fprint(l.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs__echo","arguments":{"n":1.0}}}`) // and no newline
	l.in.Close()
	if got := l.next(t); got != `{"jsonrpc":"2.0","id":1,"result":{"content":[],"params":{"name":"echo","arguments":{"n":1.0}}}}`+"\n" {
		t.Errorf("answered %s", got)
	}
	l.over(t)
}

func TestTheEndOfInputTakesCallsBack(t *testing.T) {
	l := connect(t, "tools/call")
	fmt.Fprintln(l.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs__echo"}}`)
	<-l.more
	l.in.Close()
	l.over(t)
	if len(l.gone) != 1 || l.gone[0].Ref != l.held[0].Ref {
		t.Errorf("taken back: %v", l.gone)
	}
	l.server.Step(desktop.Answered{Ref: l.held[0].Ref, Result: []byte(`{}`)}) // comes too late for everybody
}

func TestAnOverlongLineIsAnsweredAndSkipped(t *testing.T) {
	l := connect(t, "")
	go func() {
		fmt.Fprint(l.in, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"`)
		io.WriteString(l.in, strings.Repeat("x", 17<<20))
		fmt.Fprint(l.in, "\"}\n\r\n  \n{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}\r\n")
	}()
	if got := l.next(t); !strings.Contains(got, `"id":7,"error":{"code":-32600`) {
		t.Errorf("answered %s", got)
	}
	if got := l.next(t); got != `{"jsonrpc":"2.0","id":8,"result":{}}`+"\n" {
		t.Errorf("answered %s", got)
	}
	l.in.Close()
	l.over(t)
}

// Many peers answer at one time, and the client reads slowly: nothing is lost,
// and nobody waits for it.
func TestNothingIsLostWhileTheClientDoesNotRead(t *testing.T) {
	const calls, size = 200, 100 << 10
	l := connect(t, "tools/call")
	for i := range calls {
		fmt.Fprintf(l.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"fs__echo","arguments":{"n":%d},"_meta":{"progressToken":%d}}}`+"\n", i, i, i)
	}
	for range calls {
		<-l.more
	}
	var answering sync.WaitGroup
	for _, a := range l.held {
		answering.Go(func() {
			for n := range 50 {
				l.server.Step(desktop.Progressed{Ref: a.Ref, Params: fmt.Appendf(nil, `{"progressToken":"x","progress":%d}`, n+1)})
			}
			l.server.Step(desktop.Answered{Ref: a.Ref, Result: fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", size))})
		})
	}
	answering.Wait() // before the client has read a byte
	answers := 0
	for answers < calls {
		if text := l.next(t); !strings.Contains(text, "notifications/progress") {
			answers++
			if len(text) < size {
				t.Errorf("a short answer: %s", text)
			}
		}
	}
	l.in.Close()
	l.over(t)
}
