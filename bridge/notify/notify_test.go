package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A hooked is what a webhook got.
type hooked struct {
	Event, Notice, ID, Digest, Because, By, Headline string
	LeftMS                                           int64 `json:"left_ms"`
	Arguments                                        []approval.Leaf
}

// hook is a receiver whose answers answer makes, in the order of the requests.
func hook(t *testing.T, answer func(n int, w http.ResponseWriter)) (channels []policy.Channel, came chan hooked) {
	t.Helper()
	came = make(chan hooked, 64)
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var h hooked
		if err := json.Unmarshal(body, &h); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		answer(int(n.Add(1)), w)
		came <- h
	}))
	t.Cleanup(s.Close)
	p, err := policy.Load("p", []byte("version: 1\ndefault: ask\nnotify: {ops: {webhook: '"+s.URL+"/', secret: '${SECRET}'}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p.Channels(), came
}

func fine(int, http.ResponseWriter) {}

// notifies has a hall told of until the test ends, or stop is called.
func notifies(t *testing.T, h *inboxtest.Hall, o notify.Options) (said log) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said = make(log, 16)
	o.Log = slog.New(slog.NewTextHandler(said, nil))
	o.Getenv = func(string) (string, bool) { return "hush", true }
	watching, done := watchers{h, make(chan struct{}, 1)}, make(chan struct{})
	go func() {
		defer close(done)
		notify.Run(ctx, watching, o)
	}()
	<-watching.begun
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return said
}

func decide(t *testing.T, h *inboxtest.Hall, id string, allow bool) {
	t.Helper()
	v, _ := h.Question(id)
	if _, err := h.Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Allow: allow})); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsAnsweredIsClosedThere(t *testing.T) {
	h := inboxtest.New("fs")
	h.Redact = func(args []byte) []byte { return []byte(strings.ReplaceAll(string(args), "hunter2", "[redacted]")) }
	channels, came := hook(t, fine)
	notifies(t, h, notify.Options{Channels: channels})
	id := h.Ask(inboxtest.Write(`{"password":"hunter2"}`))
	first := <-came
	if first.Event != "asked" || first.ID != id || first.LeftMS < 1 || len(first.Arguments) != 1 || first.Arguments[0].Text != `"[redacted]"` {
		t.Errorf("%+v", first)
	}
	decide(t, h, id, true)
	if last := <-came; last.Event != "closed" || last.ID != id || last.Digest != first.Digest || last.By != "local" || last.Because != "allowed by local" || last.Headline != first.Headline || last.Notice == first.Notice {
		t.Errorf("%+v", last)
	}
}

// A receiver that fails has the notice again, under the same id, and nobody waits for it.
func TestANoticeThatWasNotTakenComesAgainAsTheSame(t *testing.T) {
	h := inboxtest.New("fs")
	channels, came := hook(t, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	said := notifies(t, h, notify.Options{Channels: channels})
	id := h.Ask(inboxtest.Write(`{}`))
	first := <-came
	if line := <-said; !strings.Contains(line, "the channel ops (notify) fails") || !strings.Contains(line, "it answered 500") {
		t.Errorf("said %s", line)
	}
	if again := <-came; again.Notice != first.Notice || again.ID != id {
		t.Errorf("%+v, and %+v", first, again)
	}
}

func TestAQuestionIsAnsweredWhileAReceiverHangs(t *testing.T) {
	h, release, began := inboxtest.New("fs"), make(chan struct{}), make(chan struct{}, 64)
	channels, came := hook(t, func(int, http.ResponseWriter) {
		began <- struct{}{}
		<-release
	})
	notifies(t, h, notify.Options{Channels: channels})
	id := h.Ask(inboxtest.Write(`{}`))
	<-began
	decide(t, h, id, false)
	if end := <-h.Settled; end.Outcome != approval.Denied {
		t.Errorf("%+v", end)
	}
	close(release)
	for _, want := range []string{"asked", "closed"} {
		if got := <-came; got.Event != want {
			t.Errorf("%+v", got)
		}
	}
}

// Where a secret is missing the others go on, and what is wrong is said.
func TestAChannelThatCannotBeOpenedIsLeftOut(t *testing.T) {
	h := inboxtest.New("fs")
	channels, came := hook(t, fine)
	bad := channels[0]
	bad.Name, bad.Secrets = "bad", map[string]policy.Value{"secret": {File: "/none/such"}}
	said := notifies(t, h, notify.Options{Channels: []policy.Channel{bad, channels[0]}})
	if line := <-said; !strings.Contains(line, "the channel bad (notify) is not used") || !strings.Contains(line, "notify.bad.secret") {
		t.Errorf("said %s", line)
	}
	h.Ask(inboxtest.Write(`{}`))
	<-came
	if err := notify.Check(notify.Options{Channels: []policy.Channel{bad}}); err == nil || !strings.Contains(err.Error(), "notify.bad.secret") {
		t.Errorf("%v", err)
	}
}

// Nobody is left with a question that nobody hears the answer to.
func TestWhoeverWasToldHearsThatItIsOver(t *testing.T) {
	h := inboxtest.New("fs")
	channels, came := hook(t, fine)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		notify.Run(ctx, h, notify.Options{Channels: channels, Getenv: func(string) (string, bool) { return "hush", true }, Log: slog.New(slog.DiscardHandler)})
	}()
	var ids []string
	for range 6 { // more than are on their way at one time
		ids = append(ids, h.Ask(inboxtest.Write(`{}`)))
	}
	for range ids {
		<-came
	}
	cancel()
	<-done
	close(came)
	n := 0
	for last := range came {
		if n++; last.Event != "closed" || last.Because != "nothing more is told of it here" {
			t.Errorf("%+v", last)
		}
	}
	if n != len(ids) {
		t.Errorf("%d of %d are told", n, len(ids))
	}
}

// What somebody who must agree has changed is another question to whoever heard of it.
func TestACallThatWasChangedIsToldOfAnew(t *testing.T) {
	h := inboxtest.New("fs")
	h.Redact = func(args []byte) []byte { return args }
	channels, came := hook(t, fine)
	notifies(t, h, notify.Options{Channels: channels})
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Of, q.Terms.Need, q.Terms.Edit = []string{"local", "ann"}, 2, []policy.Edit{{Field: "path", Arg: "/path", Title: "Path", Type: "string"}}
	id := h.Ask(q)
	first := <-came
	h.Say(t, "ann", id, `{"action":"accept","content":{"approve":true,"path":"/b"}}`)
	again := <-came
	if again.Event != "asked" || again.Notice == first.Notice || again.Digest == first.Digest || again.Arguments[0].Text != `"/b"` {
		t.Errorf("%+v, and %+v", first, again)
	}
}

// While a bridge is halted nobody could agree, so nobody is called: they are when it goes on.
func TestNobodyIsCalledWhileABridgeIsHalted(t *testing.T) {
	h := inboxtest.New("fs")
	channels, came := hook(t, fine)
	notifies(t, h, notify.Options{Channels: channels})
	before := h.Ask(inboxtest.Write(`{"n":1}`))
	if first := <-came; first.ID != before {
		t.Errorf("%+v", first)
	}
	h.Halt(t.Context(), inbox.Halt{})
	meanwhile, over := h.Ask(inboxtest.Write(`{"n":2}`)), h.Ask(inboxtest.Write(`{"n":3}`))
	decide(t, h, over, false)
	decide(t, h, before, false)
	if closed := <-came; closed.Event != "closed" || closed.ID != before {
		t.Errorf("%+v", closed)
	}
	h.Resume(t.Context(), "")
	if asked := <-came; asked.Event != "asked" || asked.ID != meanwhile {
		t.Errorf("%+v", asked)
	}
}
