package node

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A start that failed kept its id, its socket and its record, or ended the program
// because there was nothing yet to give back.
func TestAStartThatFailedKeepsNothing(t *testing.T) {
	state := localgateway.StateDir(filepath.Join(t.TempDir(), "mcpx-bridge"))
	if err := state.Open(); err != nil {
		t.Fatal(err)
	}
	o := Options{Server: Target{Args: []string{"notes-server"}}, ID: "notes", State: state}
	file := filepath.Join(state.File("grants"), "notes.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), o); err == nil {
		t.Fatal("what is remembered cannot be read, and it starts")
	}
	gone := func() {
		t.Helper()
		if at, err := localgateway.New(localgateway.Options{State: state}).Find(t.Context(), 0); !errors.Is(err, localgateway.ErrNobody) {
			t.Errorf("it still hosts a gateway at %s, %v", at, err)
		}
		if left, _ := filepath.Glob(filepath.Join(state.File("control"), "*.sock")); len(left) > 0 {
			t.Errorf("its socket is still there: %q", left)
		}
	}
	gone()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for range 2 { // of which the second finds what Close has left
		n, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if n.ID() != "notes" {
			t.Errorf("its id is still another's: it is %s", n.ID())
		}
		n.Close()
		gone()
	}
}

// Options without a server, as a program without arguments would give them.
func TestWithoutAServerThereIsNothingToBridge(t *testing.T) {
	for _, server := range []Target{{}, {Args: []string{}}} {
		_, err := New(t.Context(), Options{Server: server, State: localgateway.StateDir(t.TempDir())})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Exit != fault.Misused {
			t.Errorf("%+v: %v", server, err)
		}
	}
}

// A server that belongs to a client has an inbox before and after there is a place in the
// topic: nothing is asked then, and nothing can be said.
func TestAnInboxWithoutAPlaceHasNothing(t *testing.T) {
	o := Options{Server: Target{Args: []string{"notes-server"}}, ID: "notes", State: localgateway.StateDir(t.TempDir())}
	p, err := NewPassthrough(o, false)
	if err != nil {
		t.Fatal(err)
	}
	in, ctx := p.Inbox(), t.Context()
	if s, err := in.Status(ctx); err != nil || s.ID != "notes" || s.Seated || s.Pending != 0 {
		t.Errorf("it is said to be %+v, %v", s, err)
	}
	asked, err := in.List(ctx, true)
	grants, err2 := in.Grants(ctx)
	if err := errors.Join(err, err2); len(asked)+len(grants) > 0 || err != nil {
		t.Errorf("%v, %v: %v", asked, grants, err)
	}
	_, show := in.Show(ctx, "q")
	_, public := in.ShowPublic(ctx, "q")
	_, decide := in.Decide(ctx, inbox.Decision{ID: "q", Digest: "d", Result: []byte(`{"action":"accept"}`)})
	for _, err := range []error{show, public, decide} {
		if r, ok := errors.AsType[*inbox.Refusal](err); !ok || r.Reason != inbox.Unknown {
			t.Errorf("of a question that is not there: %v", err)
		}
	}
	if had, err := in.Revoke(ctx, "g"); had || err == nil {
		t.Error("a yes is taken back that is in force still")
	}
}

// What happens is told by one at a time, also that a policy file cannot be read.
func TestOneAtATimeTellsWhatHappens(t *testing.T) {
	file, reload := filepath.Join(t.TempDir(), "policy.yaml"), make(chan struct{})
	save := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save("version: 1\ndefault: ask\n")
	held, hold, failed := make(chan struct{}), make(chan struct{}), make(chan struct{}, 9)
	var telling atomic.Int32
	o := Options{Server: Target{Args: []string{os.Args[0]}}, ID: "fs", State: localgateway.StateDir(filepath.Join(t.TempDir(), "mcpx-bridge")), Policy: file, Reload: reload,
		Emit: func(r *record.Record) {
			if telling.Add(1) > 1 {
				t.Errorf("%s is told while something else is", r.Event)
			}
			switch r.Event {
			case record.Stopping:
				close(held)
				<-hold
			case record.ReloadFailed:
				failed <- struct{}{}
			}
			telling.Add(-1)
		}}
	n, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	go n.keepRules(t.Context())
	go n.sidecar.Handle(engine.Stopping{})
	<-held
	save("nonsense")
	reload <- struct{}{}
	reload <- struct{}{} // the first was heard of
	close(hold)
	<-failed
}

// Who was in a hurry waited for a server that does not end where the bridge ended for another
// reason than a signal.
func TestWhoIsInAHurryWaitsForNoServer(t *testing.T) {
	ctx, hurry := context.WithCancel(t.Context())
	var said bytes.Buffer
	ready, over := make(chan struct{}), errors.New("something else ended it")
	n, err := New(t.Context(), Options{
		Server: Target{Args: stdiotest.Command(t, stdiotest.Script{IgnoreEOF: true, IgnoreTerm: true})}, ID: "fs",
		State: localgateway.StateDir(filepath.Join(t.TempDir(), "mcpx-bridge")), Hurry: ctx,
		Log: slog.New(slog.NewTextHandler(&said, nil)), Ready: func(Ready) { close(ready) },
	})
	if err != nil {
		t.Fatal(err)
	}
	err = n.Run(t.Context(), func(context.Context) error {
		<-ready
		hurry()
		return over
	})
	if !errors.Is(err, over) || strings.Contains(said.String(), "child_killed") {
		t.Errorf("it ended with %v, and waited for the server: %s", err, &said)
	}
}
