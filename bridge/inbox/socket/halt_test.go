package socket_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

func TestTheBridgeIsHaltedAndResumed(t *testing.T) {
	h, c := enter(t)
	ctx := t.Context()
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	how, err := c.Halt(ctx, inbox.Halt{Reason: "mad agents"})
	if err != nil || how.By != "local" || how.Reason != "mad agents" || how.Since.IsZero() {
		t.Fatalf("%+v, %v", how, err)
	}
	if s, err := c.Status(ctx); err != nil || s.Halted == nil || *s.Halted != how {
		t.Fatalf("the status says %+v, %v", s.Halted, err)
	}
	list, err := c.List(ctx, false)
	if err != nil || len(list) != 1 || list[0].FrozenMS == 0 {
		t.Fatalf("listed as %+v, %v", list, err)
	}
	v, err := c.Show(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	decide := func(result string) error {
		_, err := c.Decide(ctx, inbox.Decision{ID: id, Digest: v.Digest, Result: []byte(result)})
		return err
	}
	if err := decide(yes); err == nil || !strings.Contains(err.Error(), "the bridge is halted, and takes a no only until it is resumed") {
		t.Errorf("a yes: %v", err)
	}
	if err := c.Resume(ctx, "mended"); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Status(ctx); err != nil || s.Halted != nil {
		t.Errorf("the status says %+v, %v", s.Halted, err)
	}
	if err := decide(yes); err != nil {
		t.Errorf("a yes afterwards: %v", err)
	}
}

// Where answers are taken at the terminal alone, whoever comes by the socket may stop
// everything, and may not let it go on.
func TestWhoMayLookOnlyMayHaltAndNotResume(t *testing.T) {
	h := inboxtest.New("fs")
	d := inboxtest.Open(t, socket.Options{Dir: filepath.Join(t.TempDir(), "control"), ID: "fs", Inbox: inbox.LookOnly(h)})
	c := dial(t, d.Path())
	if _, err := c.Halt(t.Context(), inbox.Halt{Reason: "mad agents"}); err != nil {
		t.Fatal(err)
	}
	err := c.Resume(t.Context(), "")
	if r, is := errors.AsType[*inbox.Refusal](err); !is || r.Reason != inbox.AnswersElsewhere {
		t.Errorf("%v", err)
	}
	if s, _ := c.Status(t.Context()); s.Halted == nil {
		t.Error("it goes on")
	}
}

// What leaves this machine halts nothing, and says why to nobody.
func TestNobodyElsewhereHalts(t *testing.T) {
	h := inboxtest.New("fs")
	h.Halt(t.Context(), inbox.Halt{Reason: "mad agents"})
	public := inbox.Public(h)
	if s, err := public.Status(t.Context()); err != nil || s.Halted == nil || s.Halted.Reason != "" {
		t.Errorf("%+v, %v", s.Halted, err)
	}
	s := httptest.NewServer(socket.Handler(public, 0))
	defer http.DefaultClient.CloseIdleConnections()
	defer s.Close()
	for _, path := range []string{"/halt", "/resume"} {
		got, err := http.Post(s.URL+path, "application/json", strings.NewReader(`{"reason":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, got.Status)
		}
	}
}

func TestAHaltIsReadStrictly(t *testing.T) {
	h := inboxtest.New("fs")
	s := httptest.NewServer(socket.Handler(h, 0))
	defer http.DefaultClient.CloseIdleConnections()
	defer s.Close()
	for body, status := range map[string]int{`{"reason":"x","why":1}`: 400, `{"reason":"x","reason":"y"}`: 400, `[]`: 400, ``: 400, `{"Reason":"x"}`: 400} {
		got, err := http.Post(s.URL+"/halt", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != status {
			t.Errorf("%s: %s", body, got.Status)
		}
	}
	got, err := http.Get(s.URL + "/halt")
	if err != nil {
		t.Fatal(err)
	}
	if got.Body.Close(); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a GET: %s", got.Status)
	}
	if s, _ := h.Status(t.Context()); s.Halted != nil {
		t.Error("one of them halted it")
	}
}
