package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// varying is what differs from run to run in what the commands below print.
var varying = []struct {
	what *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`"[0-9a-f]{64}"`), `"DIGEST64"`}, {regexp.MustCompile(`"[0-9a-f]{32}"`), `"ID32"`}, {regexp.MustCompile(`"[0-9a-f]{8}"`), `"SHORT8"`},
	{regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)"`), `"TIME"`}, {regexp.MustCompile(`[-0-9]{10} [:0-9]{8} UTC [(]in [0-9ms]+[)]`), "WHEN"},
}

// Scripts read what --json prints: each name, each value and their order stay as they are.
func TestTheJSONOfQuestionsGrantsAndDecisions(t *testing.T) {
	var got strings.Builder
	h := inboxtest.New("fs")
	state := openHall(t, h)
	prints := func(args ...string) {
		t.Helper()
		code, out, errs := typed(t, state, args...)
		if code != exitDone {
			t.Fatalf("%v: exit code %d, %s", args, code, errs)
		}
		for _, v := range varying {
			out = v.what.ReplaceAllString(out, v.name)
		}
		args[len(args)-1] = v32.ReplaceAllString(args[len(args)-1], "ID32")
		fmt.Fprintf(&got, "$ %s\n%s", strings.Join(args, " "), out)
	}
	prints("approvals", "--json")
	prints("grants", "list", "--json")

	q := inboxtest.Write(`{"path":"/a<b>","n":9007199254740993,"hidden":"x\u202e"}`)
	q.Terms = policy.Terms{Of: []string{"local", "alice"}, Need: 1, Within: q.Terms.Within, Rules: []string{"small-writes", "other"}, Priority: "high",
		Remember: []string{"once", "session", "always"}, Delegate: &policy.Delegate{To: []string{"carol"}, Depth: 1},
		Edit: []policy.Edit{{Field: "toPath", Arg: "/path", Title: "Path", Type: "string", Enum: []string{`"/a<b>"`, `"/c"`}},
			{Field: "count", Arg: "/n", Title: "Count", Type: "integer", Min: "1", Max: "9"}, {Field: "sure", Arg: "/sure", Title: "Sure", Type: "boolean"}}}
	q.Beside = []byte(`{"_meta":{"account":"x"}}`)
	first := h.Ask(q)
	plain := inboxtest.Write(`{}`)
	plain.Caller = "agent-b"
	second := h.Ask(plain)
	prints("approvals", "list", "--json")
	prints("approvals", "show", "--json", first)
	prints("approvals", "show", "--json", second)
	prints("approvals", "deny", "--reason", "not today", "--json", second)

	kept := inboxtest.Write(`{"path":"/a"}`)
	kept.Caller, kept.Fingerprint = "agent-c", "f1f1f1f1f1"
	kept.Terms.Remember = []string{"once", "session"}
	prints("approvals", "allow", "--remember", "session", "--json", h.Ask(kept))
	listed := inboxtest.Write(`{"uri":"file:///a"}`)
	listed.Caller, listed.Method, listed.Tool = "agent-d", "resources/read", ""
	listed.Terms.Remember = []string{"once", "session"}
	prints("approvals", "allow", "--remember", "session", "--json", h.Ask(listed))
	prints("grants", "list", "--json")

	two := inboxtest.Write(`{}`)
	two.Caller, two.Terms.Of, two.Terms.Need = "agent-e", []string{"local", "alice"}, 2
	prints("approvals", "allow", "--json", h.Ask(two))
	passed := inboxtest.Write(`{}`)
	passed.Caller, passed.Terms.Delegate = "agent-f", &policy.Delegate{To: []string{"carol"}, Depth: 1}
	prints("approvals", "allow", "--delegate-to", "carol", "--json", h.Ask(passed))
	g, _ := h.Grants(t.Context())
	prints("grants", "revoke", "--json", g[0].ID)
	compareGolden(t, "testdata/inbox.golden", got.String())
}

var v32 = regexp.MustCompile(`^[0-9a-f]{8}([0-9a-f]{24})?$`)

// compareGolden compares with a file, which UPDATE=1 writes.
func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
