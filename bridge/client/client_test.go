package client_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A room is a topic at a gateway of the test's own.
type room struct {
	t     *testing.T
	local *localgateway.LocalGateway
}

func newRoom(t *testing.T) *room {
	state := localgateway.StateDir(filepath.Join(t.TempDir(), "state"))
	if err := state.Open(); err != nil {
		t.Fatal(err)
	}
	r := &room{t, localgateway.New(localgateway.Options{State: state, Listen: "127.0.0.1:0"})}
	if _, _, err := r.local.FindOrHost(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.local.Close)
	return r
}

// join takes a seat, by the network.
func (r *room) join(id string, o client.Options) *client.Client {
	c := client.New(&localgateway.Connector{Local: r.local, Hosts: true, OverNetwork: true, Join: topic.Options{Topic: "lobby", ID: id}}, o)
	if err := c.Dial(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// A server answers tools/call as it is told.
type server struct {
	*client.Client
	mu    sync.Mutex
	heard []*wire.Envelope
	came  chan struct{}
}

func (r *room) serve(id string, answer func(s *server, e *wire.Envelope)) *server {
	s := &server{came: make(chan struct{}, 100)}
	ready := make(chan struct{})
	s.Client = r.join(id, client.Options{
		OnRequest: func(e *wire.Envelope) bool {
			<-ready
			answer(s, e)
			return true
		},
		OnFrame: func(e *wire.Envelope) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.heard = append(s.heard, e)
			s.came <- struct{}{}
		},
	})
	close(ready)
	return s
}

// await waits until the server has heard what is looked for.
func (s *server) await(t *testing.T, is func(*wire.Envelope) bool) *wire.Envelope {
	t.Helper()
	for {
		s.mu.Lock()
		for _, e := range s.heard {
			if is(e) {
				s.mu.Unlock()
				return e
			}
		}
		s.mu.Unlock()
		select {
		case <-s.came:
		case <-t.Context().Done():
			t.Fatal("it never came")
		}
	}
}

func says(text string) func(s *server, e *wire.Envelope) {
	return func(s *server, e *wire.Envelope) {
		s.Reply(e, jsonrpc.AppendResult(nil, e.Message.Get(jsonrpc.ID), []byte(`{"content":[{"type":"text","text":"`+text+`"}]}`)))
	}
}

// Who says that it is starting, and goes on saying so, is told of once in a second, holds nobody
// up longer than all may take, and is no reason to say that a tool is not there.
func TestWhoOnlySaysThatItIsStarting(t *testing.T) {
	r := newRoom(t)
	starting := func(s *server, to string) {
		payload := []byte(`{"jsonrpc":"2.0","method":"notifications/mcpx/starting","params":{"seconds":1,"message":"m"}}`)
		m, err := jsonrpc.Parse(payload, jsonrpc.Called)
		if err != nil {
			t.Error(err)
		}
		s.Post(wire.Notice, &wire.Envelope{ID: rand.Text(), TS: wire.Stamp(time.Now()), To: []string{to}, Kind: wire.Notification, Method: "notifications/mcpx/starting", Payload: payload, Message: m})
	}
	r.serve("liar", func(s *server, e *wire.Envelope) {
		for range 40 {
			starting(s, e.From)
		}
	})
	r.serve("other", func(s *server, e *wire.Envelope) {
		starting(s, "liar") // which is nobody's business here
		if e.Method == "tools/list" {
			s.Reply(e, jsonrpc.AppendResult(nil, e.Message.Get(jsonrpc.ID), []byte(`{"tools":[{"name":"x"}]}`)))
		} else {
			says("")(s, e)
		}
	})
	told := make(chan string, 100)
	ann := r.join("ann", client.Options{OnStarting: func(id, words string) { told <- id + " " + words }})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 900*time.Millisecond, client.ErrNoAnswer)
	defer cancel()
	c, err := ann.Census(ctx)
	if err != nil || c.Absent() != "still starting: liar" || c.Heard != 1 || len(c.Tools) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if first := <-told; first != "liar starting, 1 s" || len(told) > 0 {
		t.Errorf("told of %s, and of %d more", first, len(told))
	}
}

func TestACallIsAnswered(t *testing.T) {
	r := newRoom(t)
	r.serve("files", says("done"))
	ann := r.join("ann", client.Options{})
	a, err := ann.Call(t.Context(), "files", "write", []byte(`{"path":"x"}`), nil)
	if err != nil || !strings.Contains(string(a.Result), "done") {
		t.Errorf("%s, %v", a.Result, err)
	}
	if !ann.Present("files") || ann.Present("ann") || ann.Present("bob") || len(ann.Others()) != 1 {
		t.Errorf("there are %v", ann.Others())
	}
}

// Somebody else in the topic answers a request that was not put to it, and is quicker.
func TestOnlyWhoWasAskedCanAnswer(t *testing.T) {
	r := newRoom(t)
	mallory := r.join("mallory", client.Options{})
	r.serve("files", func(s *server, e *wire.Envelope) {
		// The forged answer is in the topic before the true one is sent.
		if err := mallory.Reply(&wire.Envelope{From: "ann", ID: e.ID, Method: "tools/call"}, jsonrpc.AppendResult(nil, e.Message.Get(jsonrpc.ID), []byte(`{"forged":true}`))); err != nil {
			t.Error(err)
		}
		s.await(t, func(heard *wire.Envelope) bool { return true })
		says("true")(s, e)
	})
	ann := r.join("ann", client.Options{})
	a, err := ann.Call(t.Context(), "files", "write", []byte(`{}`), nil)
	if err != nil || !strings.Contains(string(a.Result), `"text":"true"`) {
		t.Errorf("%s, %v", a.Result, err)
	}
}

// Who gives up tells the other side, which may have begun.
func TestACallThatNobodyWaitsForIsTakenBack(t *testing.T) {
	r := newRoom(t)
	silent := r.serve("files", func(*server, *wire.Envelope) {})
	ann := r.join("ann", client.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("I have no more time")
	done := make(chan error, 1)
	go func() {
		_, err := ann.Call(ctx, "files", "write", []byte(`{}`), nil)
		done <- err
	}()
	silent.await(t, func(e *wire.Envelope) bool { return e.Method == "tools/call" })
	cancel(gone)
	if err := <-done; !errors.Is(err, gone) {
		t.Error(err)
	}
	silent.await(t, func(e *wire.Envelope) bool { return e.Method == "notifications/cancelled" })
}

// Nobody is left waiting when the seat is given up.
func TestCloseEndsWhatIsWaitedFor(t *testing.T) {
	r := newRoom(t)
	silent := r.serve("files", func(*server, *wire.Envelope) {})
	c := client.New(&localgateway.Connector{Local: r.local, Join: topic.Options{Topic: "lobby", ID: "ann"}}, client.Options{})
	if err := c.Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), "files", "write", []byte(`{}`), nil)
		done <- err
	}()
	silent.await(t, func(e *wire.Envelope) bool { return e.Method == "tools/call" })
	c.Close()
	if err := <-done; err == nil {
		t.Error("there was an answer")
	}
}

// A request to nobody is answered by the gateway, or not at all: it ends with its context.
func TestNobodyAnswersForWhoIsNotThere(t *testing.T) {
	r := newRoom(t)
	ann := r.join("ann", client.Options{})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, client.ErrNoAnswer)
	defer cancel()
	_, err := ann.Call(ctx, "bob", "write", []byte(`{}`), nil)
	f, coded := errors.AsType[*fault.Error](err)
	if !errors.Is(err, client.ErrNoAnswer) && !(coded && f.Exit == fault.NoAnswer) {
		t.Error(err)
	}
}

// Others' requests do not wait for a participant that serves nothing.
func TestAClientServesNothingAndSaysSo(t *testing.T) {
	r := newRoom(t)
	r.join("bob", client.Options{})
	ann := r.join("ann", client.Options{})
	a, err := ann.Ask(t.Context(), "bob", "tools/list", []byte(`{}`), nil)
	if err != nil || client.ErrorOf("bob", "tools/list", a.Err) == nil || !errors.Is(client.ErrorOf("bob", "tools/list", a.Err), client.ErrServesNone) {
		t.Errorf("%s, %v", a.Err, err)
	}
}

// Who was invited, or does what nobody has heard of yet, is not there (FINDINGS D11, D19):
// who proposed waited for the no of somebody who could not say one.
func TestOnlyWhoJoinsIsThere(t *testing.T) {
	d := wire.Dialects[1]
	c := client.New(&localgateway.Connector{}, client.Options{})
	c.SeatTaken(d, wire.Welcome{You: wire.Participant{ID: "me"}})
	for _, step := range []struct{ event, caps, there string }{
		{"invited", `["chat"]`, ""}, {"heartbeat", `["chat"]`, ""}, {"update", `["chat"]`, ""},
		{"join", `["chat"]`, `["chat"]`}, {"heartbeat", `["mcp/*"]`, `["chat"]`}, {"update", `["mcp/*"]`, `["mcp/*"]`},
		{"leave", `["mcp/*"]`, ""}, {"update", `["mcp/*"]`, ""},
	} {
		e, err := d.Decode([]byte(`{"protocol":"mcpx/v0.1","id":"p-1","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"` +
			step.event + `","participant":{"id":"zoe","capabilities":` + step.caps + `}}}`))
		if err != nil {
			t.Fatal(err)
		}
		c.Received(&e)
		var there strings.Builder
		for _, p := range c.Others() {
			there.WriteString(string(p.Caps.Raw()))
		}
		if there.String() != step.there || c.Present("zoe") != (there.String() != "") {
			t.Errorf("after %s %s there is %q, want %q", step.event, step.caps, there.String(), step.there)
		}
	}
}

// A list of more pages than are taken was cut off without a word.
func TestThatAListHasMorePagesIsTold(t *testing.T) {
	r := newRoom(t)
	var lists *client.Client
	ready, page := make(chan struct{}), 0
	lists = r.join("files", client.Options{OnRequest: func(e *wire.Envelope) bool {
		<-ready
		page++
		lists.Reply(e, jsonrpc.AppendResult(nil, e.Message.Get(jsonrpc.ID), fmt.Appendf(nil, `{"tools":[{"name":"t%d"}],"nextCursor":"%d"}`, page, page)))
		return true
	}})
	close(ready)
	var log bytes.Buffer
	ann := r.join("ann", client.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	tools, err := ann.Tools(t.Context(), "files", client.WithOne)
	if err != nil || len(tools) != 200 || !strings.Contains(log.String(), "or 200 pages: what comes from") {
		t.Errorf("%d tools, %v, %s", len(tools), err, log.String())
	}
}

// What a participant says of our calls is one of few words, and it is not asked for ever: one
// that says one word a second kept who lists tools for as many seconds as it has tools.
func TestWhatIsSaidOfOurCallsIsBounded(t *testing.T) {
	r := newRoom(t)
	var asked atomic.Int32
	r.serve("fs", func(s *server, e *wire.Envelope) {
		n := asked.Add(1)
		said := fmt.Sprintf(`{"standing":{"t%d":"allow","u":"allow, as its owner says","d":"deny","x":"depends","y":"depends"},"otherwise":{"d":"allow","x":"ask","y":"maybe"}}`, n)
		s.Reply(e, jsonrpc.AppendResult(nil, e.Message.Get(jsonrpc.ID), []byte(said)))
	})
	tools := []string{"u", "d", "x", "y"}
	for n := range 100 {
		tools = append(tools, fmt.Sprintf("t%d", n+1))
	}
	all := r.join("bob", client.Options{}).Standing(t.Context(), "fs", tools)
	_, known := all["u"]
	if all["t1"].Word != "allow" || known || all["d"] != (client.Standing{Word: "deny"}) || all["x"] != (client.Standing{Word: "ask", SomeDenied: true}) || all["y"].Word != "depends" || asked.Load() > 32 {
		t.Errorf("asked %d times, told %v", asked.Load(), all)
	}
}
