package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

// A rival lets somebody else decide as soon as a question was shown.
type rival struct {
	*inboxtest.Hall
	t *testing.T
}

func (r rival) Show(ctx context.Context, id string) (approval.View, error) {
	v, err := r.Hall.Show(ctx, id)
	r.Say(r.t, "alice", id, `{"action":"decline"}`)
	return v, err
}

// typed runs a command and returns its exit code and what it said.
func typed(t *testing.T, state string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, env{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		getenv: func(key string) string { return map[string]string{"XDG_STATE_HOME": state}[key] }, environ: func() []string { return nil }})
	return code, stdout.String(), stderr.String()
}

// openHall opens the socket of a bridge as it is found in a state directory.
func openHall(t *testing.T, in inbox.Inbox) (state string) {
	t.Helper()
	state = t.TempDir()
	inboxtest.Open(t, socket.Options{Dir: filepath.Join(state, "mcpx-bridge", "control"), ID: "fs", Inbox: in})
	return state
}

func TestWhoComesSecondIsToldWhoWasFirst(t *testing.T) {
	h := rival{inboxtest.New("fs"), t}
	q := inboxtest.Write(`{}`)
	q.Terms.Of = []string{"local", "alice"}
	id := h.Ask(q)
	code, _, errs := typed(t, openHall(t, h), "approvals", "allow", id[:8])
	if code != exitRefused || !strings.Contains(errs, "it was decided already, by alice") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

func TestAnAmbiguousIDIsNone(t *testing.T) {
	h := inboxtest.New("fs")
	first, seen := "", map[byte]bool{}
	for first == "" { // 17 ids cannot all begin differently
		id := h.Ask(inboxtest.Write(`{}`))
		if seen[id[0]] {
			first = id[:1]
		}
		seen[id[0]] = true
	}
	code, _, errs := typed(t, openHall(t, h), "approvals", "allow", first)
	if code != exitFailed || !strings.Contains(errs, " questions whose id or digest begins with") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if len(h.Settled) != 0 {
		t.Error("something was settled")
	}
}

// Quorum: a yes that does not suffice says so.
func TestAYesThatDoesNotSuffice(t *testing.T) {
	h := inboxtest.New("fs")
	q := inboxtest.Write(`{}`)
	q.Terms.Of, q.Terms.Need = []string{"local", "alice"}, 2
	id := h.Ask(q)
	state := openHall(t, h)
	code, out, errs := typed(t, state, "approvals", "allow", id)
	if code != exitDone || !strings.Contains(errs, "others must agree too") || !strings.Contains(out, "Needs        2 who agree") {
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
	h := inboxtest.New("fs")
	id := h.Ask(inboxtest.Write(`{"path":"/a\u202e"}`))
	code, out, errs := typed(t, openHall(t, h), "approvals", "allow", id, "--json")
	if code != exitDone || !strings.HasPrefix(out, `{"id":"`+id) || !strings.Contains(errs, `/path = "/a\u{202e}"`) {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}
