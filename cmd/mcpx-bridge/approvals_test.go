package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control/controltest"
)

// A rival lets somebody else decide as soon as a question was shown.
type rival struct {
	*controltest.Hall
	t *testing.T
}

func (r rival) Question(id string) (approval.View, bool) {
	v, ok := r.Hall.Question(id)
	r.Say(r.t, "alice", id, `{"action":"decline"}`)
	return v, ok
}

// typed runs a command and returns its exit code and what it said.
func typed(t *testing.T, state string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, env{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		getenv: func(key string) string { return map[string]string{"XDG_STATE_HOME": state}[key] }, environ: func() []string { return nil }})
	return code, stdout.String(), stderr.String()
}

// openHall opens the local door of a bridge as it is found in a state directory.
func openHall(t *testing.T, b control.Bridge) (state string) {
	t.Helper()
	state = t.TempDir()
	d, err := control.Open(control.Options{Dir: filepath.Join(state, "mcpx-bridge", "control"), ID: b.Status().ID, Bridge: b})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.Serve(t.Context()) }()
	t.Cleanup(func() { d.Close(); <-done })
	return state
}

func TestWhoComesSecondIsToldWhoWasFirst(t *testing.T) {
	h := rival{controltest.New("fs"), t}
	q := controltest.Write(`{}`)
	q.Terms.Of = []string{"local", "alice"}
	id := h.Ask(q)
	code, _, errs := typed(t, openHall(t, h), "approvals", "allow", id[:8])
	if code != exitRefused || !strings.Contains(errs, "it was decided already, by alice") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

func TestAnAmbiguousIDIsNone(t *testing.T) {
	h := controltest.New("fs")
	first, seen := "", map[byte]bool{}
	for first == "" { // 17 ids cannot all begin differently
		id := h.Ask(controltest.Write(`{}`))
		if seen[id[0]] {
			first = id[:1]
		}
		seen[id[0]] = true
	}
	code, _, errs := typed(t, openHall(t, h), "approvals", "allow", first)
	if code != exitFailed || !strings.Contains(errs, "there are 2 questions whose id begins with") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if len(h.Settled) != 0 {
		t.Error("something was settled")
	}
}

// Quorum: a yes that does not suffice says so.
func TestAYesThatDoesNotSuffice(t *testing.T) {
	h := controltest.New("fs")
	q := controltest.Write(`{}`)
	q.Terms.Of, q.Terms.Need = []string{"local", "alice"}, 2
	id := h.Ask(q)
	state := openHall(t, h)
	code, out, errs := typed(t, state, "approvals", "allow", id)
	if code != exitDone || !strings.Contains(errs, "others must agree too") || !strings.Contains(out, "Needs: 2 who agree; 0 so far") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	code, _, errs = typed(t, state, "approvals", "deny", id)
	if code != exitFailed || !strings.Contains(errs, "does not count") {
		t.Errorf("a second answer: exit code %d, %s", code, errs)
	}
	h.Say(t, "alice", id, `{"action":"accept","content":{"approve":true}}`)
	if s := h.Next(t); s.Outcome != approval.Allowed || len(s.By) != 2 {
		t.Errorf("settled as %+v", s)
	}
}

// Without --digest the call is printed that is allowed, with --json beside the
// JSON.
func TestWhatIsAllowedIsPrinted(t *testing.T) {
	h := controltest.New("fs")
	id := h.Ask(controltest.Write(`{"path":"/a\u202e"}`))
	code, out, errs := typed(t, openHall(t, h), "approvals", "allow", id, "--json")
	if code != exitDone || !strings.HasPrefix(out, `{"id":"`+id) || !strings.Contains(errs, `/path = "/a\u{202e}"`) {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}
