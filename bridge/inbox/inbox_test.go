package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

const secret = "hunter2"

// secretive is a Hall with a question, and something remembered, that have the secret wherever
// one may stand: in an argument that the policy redacts, beside the arguments, in a field that
// may be changed, and in the server's command.
func secretive(t *testing.T) (h *inboxtest.Hall, id string) {
	t.Helper()
	h = inboxtest.New("fs")
	h.Redact = func(args []byte) []byte { return []byte(strings.ReplaceAll(string(args), secret, "[redacted]")) }
	h.Command = "server --password " + secret
	ask := func(caller string) string {
		q := inboxtest.Write(`{"path":"/a","password":"` + secret + `","deep":[{"x":"` + secret + `"}]}`)
		q.Caller, q.Beside, q.Dir, q.Command = caller, []byte(`{"_meta":{"key":"`+secret+`"}}`), "/home/"+secret, secret
		q.Terms.Remember, q.Terms.Edit = []string{"once", "session"}, []policy.Edit{{Field: "word", Arg: "/password", Title: "Word", Type: "string"}}
		return h.Ask(q)
	}
	v, _ := h.Question(ask("agent-b"))
	if _, err := h.Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Allow: true, Remember: "session"})); err != nil {
		t.Fatal(err)
	}
	return h, ask("agent-a")
}

// everything is all that an Inbox tells, as JSON.
func everything(t *testing.T, in inbox.Inbox, id string) string {
	t.Helper()
	status, err := in.Status(t.Context())
	list, err2 := in.List(t.Context(), true)
	view, err3 := in.Show(t.Context(), id)
	grants, err4 := in.Grants(t.Context())
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || len(grants) != 1 || view.ID != id || status.ID != "fs" {
		t.Fatalf("%+v, %+v, %+v", status, list, grants)
	}
	all, err := json.Marshal([]any{status, list, view, grants, view.Text()})
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

func TestThePublicViewHasNothingThatMustNotLeaveThisMachine(t *testing.T) {
	h, id := secretive(t)
	if full := everything(t, h, id); strings.Count(full, secret) < 10 {
		t.Fatalf("there is little to hide: %s", full)
	}
	public := everything(t, inbox.Public(h), id)
	for _, word := range []string{secret, "server --password", "/home/", `"pid"`, `"server"`, "audit.jsonl", "/etc/policy.yaml"} {
		if strings.Contains(public, word) {
			t.Errorf("%q is in %s", word, public)
		}
	}
	for _, word := range []string{"agent-a", "write_file", `/path = \"/a\"`, "[redacted]", "small-writes"} {
		if !strings.Contains(public, word) {
			t.Errorf("%q is not in %s", word, public)
		}
	}
}

// The list that leaves this machine named a resource whose URI is hidden.
func TestThePublicListNamesNothingThatIsHidden(t *testing.T) {
	h, _ := secretive(t)
	h.Redact = func([]byte) []byte { return []byte(`{"uri":"[redacted]"}`) }
	q := inboxtest.Write(`{"uri":"file:///` + secret + `"}`)
	q.Method, q.Tool = "resources/read", ""
	id := h.Ask(q)
	for in, want := range map[inbox.Inbox]string{h: "resources/read file:///" + secret, inbox.Public(h): "resources/read [redacted]"} {
		list, err := in.List(t.Context(), true)
		if at := len(list) - 1; err != nil || list[at].ID != id || list[at].Tool != want {
			t.Errorf("%v, %+v, want %q", err, list, want)
		}
	}
}

// Where nothing says what is to be redacted, nothing is shown.
func TestThePublicViewHasNoArgumentsWhereNobodyRedactsThem(t *testing.T) {
	h, id := secretive(t)
	h.Redact = nil
	if public := everything(t, inbox.Public(h), id); strings.Contains(public, secret) || !strings.Contains(public, "not shown here") {
		t.Errorf("%s", public)
	}
}

func TestAnAnswerToWhatThePublicViewShowsCounts(t *testing.T) {
	h, id := secretive(t)
	v, err := inbox.Public(h).Show(t.Context(), id[:8])
	if err != nil {
		t.Fatal(err)
	}
	if o, err := inbox.Public(h).Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Reason: "no"})); err != nil || o.Outcome != "denied" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestWhoMayOnlyLookDecidesNothing(t *testing.T) {
	h, id := secretive(t)
	in := inbox.LookOnly(h)
	v, err := in.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, allow := range []bool{true, false} {
		_, err := in.Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Allow: allow}))
		if r, ok := errors.AsType[*inbox.Refusal](err); !ok || r.Reason != inbox.AnswersElsewhere {
			t.Errorf("%v", err)
		}
	}
	if _, there := h.Question(id); !there {
		t.Error("it is decided")
	}
	grants, _ := in.Grants(t.Context())
	if was, err := in.Revoke(t.Context(), grants[0].ID); !was || err != nil {
		t.Errorf("what is remembered cannot be taken back: %v", err)
	}
}

// Whoever is told that it was not passed on, and why, is not threatened.
func TestWhatWasNotPassedOnIsDecidedAsBefore(t *testing.T) {
	r := &inbox.Refusal{Reason: approval.InvalidDelegation, Detail: `"ann" is asked already`}
	if got := r.Error(); got != `it was not passed on: "ann" is asked already; it is yours to decide as before` {
		t.Error(got)
	}
}

// Nobody waits for a watcher, and one who falls behind hears that it is over.
func TestAWatcherWhoFallsBehindIsLetGo(t *testing.T) {
	var f inbox.Feed
	n := 0
	for e, err := range f.Watch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n > 1 {
			continue
		}
		if e != (inbox.Event{}) {
			t.Errorf("begins with %+v", e)
		}
		for range 1000 {
			f.Post(inbox.Event{Event: "changed", ID: "x"})
		}
	}
	if n < 2 || n > 1000 {
		t.Errorf("%d events were heard", n)
	}
}

func TestAWatchEndsWithItsContextAndWithTheFeed(t *testing.T) {
	var f inbox.Feed
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range f.Watch(ctx) {
		cancel()
	}
	for range f.Watch(t.Context()) {
		f.Close()
	}
	for range f.Watch(t.Context()) { // begins, and ends
	}
	f.Post(inbox.Event{Event: "changed"})
}
