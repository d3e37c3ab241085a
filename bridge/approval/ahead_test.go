package approval

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What the owner hides of a call's arguments leaves this machine neither in a plan, where it has
// another name, nor in what a wider yes would cover; the person here sees it.
func TestAPlanHidesWhatACallHides(t *testing.T) {
	rules, err := policy.Load("p", []byte("version: 1\ndefault: ask\nredact: [password, path]\n"))
	if err != nil {
		t.Fatal(err)
	}
	ahead := deploy("alice", "local")
	ahead.Method, ahead.Tool, ahead.Prints = plan.Method, "", []string{"f1"}
	ahead.Args = []byte(`{"items":[{"tool":"login","uses":1,"args":{"/password":{"is":"hunter2"},"/path":{"under":"/srv/hunter2"}}}],"seconds":9}`)
	of, err := plan.Parse(ahead.Args)
	if err != nil {
		t.Fatal(err)
	}
	ahead.Terms.Edit = EditsOf(of)
	wide := deploy("alice", "local")
	wide.Args, wide.Terms.Remember, wide.Terms.Folder = []byte(`{"path":"/srv/hunter2/a"}`), []string{"once", "folder"}, "/path"
	for what, q := range map[string]Question{"a plan": ahead, "a wider yes": wide} {
		s := newStage(t, Options{})
		s.hide = rules.Redact
		s.d.SetHere(Who{Door: Local}, true)
		id := s.open(q)
		if a := s.shown("alice"); strings.Contains(string(a.Params), "hunter2") || !strings.Contains(string(a.Params), "[redacted]") {
			t.Errorf("of %s alice is shown %s", what, a.Params)
		}
		public, _ := s.d.PublicView(s.now, id)
		if text, _ := json.Marshal(public); strings.Contains(string(text), "hunter2") {
			t.Errorf("of %s this leaves the machine: %s", what, text)
		}
		if v, ok := s.d.View(s.now, id, true); !ok || !strings.Contains(v.Text(), "hunter2") || what == "a plan" && len(v.Plan) != 2 {
			t.Errorf("of %s the person here is shown %s", what, v.Text())
		}
	}
}

// Whoever is asked over a topic reads the same items as the person at the bridge.
func TestAPlanIsReadOverATopic(t *testing.T) {
	q := deploy("alice")
	q.Method, q.Tool, q.Prints = plan.Method, "", []string{"f1"}
	q.Args = []byte(`{"items":[{"tool":"build","uses":3}],"seconds":60}`)
	s := newStage(t, Options{})
	id := s.open(q)
	e, err := Elicit(s.now, "fs", "alice", s.shown("alice").Params)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := s.d.View(s.now, id, true)
	if len(e.View.Plan) != 2 || e.View.Plan[0] != v.Plan[0] || e.View.Plan[0].Text != "up to 3 times: build without arguments" {
		t.Errorf("alice reads %v, and the person at the bridge %v", e.View.Plan, v.Plan)
	}
}
