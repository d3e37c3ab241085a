package approval

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func TestAI08Edits(t *testing.T) { // WIRE 7.5, O56-O58
	for _, c := range []struct {
		name, content string
		outcome       Outcome
		args          string
		modified      string
	}{
		{"O56 another target", `"modifiedTarget":"staging"`, Allowed, `{"target":"staging"}`, "/target"},
		{"the form as it was", `"modifiedTarget":"production","timeout":30`, Allowed, `{"target":"production"}`, ""},
		{"the same in another spelling", `"modifiedTarget":"produ\u0063tion","timeout":3.0e1`, Allowed, `{"target":"production"}`, ""},
		{"nothing filled in", `"mood":"fine"`, Allowed, `{"target":"production"}`, ""},
		{"the time only", `"timeout":90`, Allowed, `{"target":"production"}`, "@timeout"},
		{"both", `"modifiedTarget":"staging","timeout":1.5`, Allowed, `{"target":"staging"}`, "/target @timeout"},
		{"O57 not among the values", `"modifiedTarget":"mars"`, Denied, "", ""},
		{"O57 a key that means nothing", `"evil":1`, Allowed, `{"target":"production"}`, ""},
		{"apr-021 an argument that was not offered", `"target":"staging"`, Denied, "", ""},
		{"apr-022 arguments edited as a whole", `"edited_arguments":{"target":"staging"}`, Denied, "", ""},
		{"not a string", `"modifiedTarget":7`, Denied, "", ""},
		{"null", `"modifiedTarget":null`, Denied, "", ""},
		{"an object", `"modifiedTarget":{"a":1}`, Denied, "", ""},
		{"time too short", `"timeout":0.5`, Denied, "", ""},
		{"time too long", `"timeout":301`, Denied, "", ""},
		{"time a string", `"timeout":"30"`, Denied, "", ""},
		{"a number beyond all bounds", `"timeout":1e999999999`, Denied, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{})
			s.open(deploy("alice"))
			shown := s.shown("alice").Digest
			s.says("alice", `{"action":"accept","content":{"approve":true,`+c.content+`}}`)
			if c.outcome == Denied {
				s.wantEnd(Denied, InvalidModification)
				return
			}
			e := s.wantEnd(Allowed, "")
			if string(e.Args) != c.args || strings.Join(e.Modified, " ") != c.modified {
				t.Errorf("%s, modified %v", e.Args, e.Modified)
			}
			if e.Digest != shown || (e.Ran == shown) != (c.modified == "") {
				t.Errorf("asked about %s, ran %s", e.Digest, e.Ran)
			}
			if c.modified != "" {
				if n := s.wantNoted(record.Modified, ""); n.Digest != e.Ran {
					t.Errorf("on record: %s", n.Digest)
				}
			}
		})
	}
}

func TestEditedTime(t *testing.T) {
	s := newStage(t, Options{})
	s.open(deploy("alice"))
	s.says("alice", `{"action":"accept","content":{"approve":true,"timeout":1.5}}`)
	if e := s.wantEnd(Allowed, ""); e.Timeout != 1500*time.Millisecond {
		t.Errorf("%v", e.Timeout)
	}
}

// apr-022, apr-023, O58: what was edited is judged again.
func TestAI08EditedArgumentsAreRechecked(t *testing.T) {
	for _, c := range []struct {
		name, found string
		outcome     Outcome
		reason      string
	}{
		{"apr-022 the tool's schema refuses them", InvalidModification, Denied, InvalidModification},
		{"apr-023 O58 a rule denies them", PolicyDenied, Denied, InvalidModification},
		{"the tool changed meanwhile", ToolChanged, Aborted, ToolChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{})
			s.open(deploy("alice"))
			s.recheck = func(_ *Question, args []byte) string {
				if string(args) != `{"target":"staging"}` {
					t.Errorf("rechecked %s", args)
				}
				return c.found
			}
			s.says("alice", `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging"}}`)
			s.wantEnd(c.outcome, c.reason)
		})
	}
}

func TestEditsOfMissingAndComposedArguments(t *testing.T) {
	edit := func(arg, args, raw string) Settled {
		s := newStage(t, Options{})
		q := writeFile("alice")
		q.Args = []byte(args)
		q.Terms.Edit = []policy.Edit{{Field: "f", Arg: arg, Type: "integer"}}
		s.open(q)
		s.says("alice", `{"action":"accept","content":{"approve":true,"f":`+raw+`}}`)
		return s.end()
	}
	if e := edit("/n", `{"path":"/a"}`, "5"); string(e.Args) != `{"n":5,"path":"/a"}` || !slices.Equal(e.Modified, []string{"/n"}) {
		t.Errorf("absent: %s %v", e.Args, e.Modified)
	}
	if e := edit("/n", `{"n":9007199254740992}`, "9007199254740993"); string(e.Args) != `{"n":9007199254740993}` {
		t.Errorf("large: %s", e.Args)
	}
	for name, e := range map[string]Settled{
		"parent missing": edit("/o/n", `{}`, "5"), "an object": edit("/o", `{"o":{}}`, "5"), "a fraction": edit("/n", `{"n":1}`, "1.5"),
	} {
		if e.Outcome != Denied || e.Reason != InvalidModification {
			t.Errorf("%s: %v %s", name, e.Outcome, e.Args)
		}
	}
}

func TestUnfit(t *testing.T) {
	text := policy.Edit{Type: "string", Min: "2", Max: "3"}
	flag := policy.Edit{Type: "boolean"}
	enum := policy.Edit{Type: "number", Enum: []string{"1", "2.50"}}
	for _, c := range []struct {
		e   policy.Edit
		raw string
		fit bool
	}{
		{text, `"ab"`, true}, {text, `"äöü"`, true}, {text, `"a"`, false}, {text, `"abcd"`, false}, {text, `1`, false},
		{text, `"` + strings.Repeat("x", maxEdited+1) + `"`, false},
		{flag, `true`, true}, {flag, `false`, true}, {flag, `"true"`, false}, {flag, `1`, false}, {flag, `null`, false},
		{enum, `1`, true}, {enum, `2.5`, true}, {enum, `1.0`, true}, {enum, `3`, false}, {enum, `"1"`, false},
		{policy.Edit{Type: "number", Min: "-1.5", Max: "1e2"}, `-1.5`, true},
		{policy.Edit{Type: "number", Min: "-1.5", Max: "1e2"}, `100`, true},
		{policy.Edit{Type: "number", Min: "-1.5", Max: "1e2"}, `100.1`, false},
		{policy.Edit{Type: "integer"}, `5.0`, true},
		{policy.Edit{Type: "object"}, `{}`, false},
		{policy.Edit{}, `"x"`, false},
	} {
		if why := unfit(&c.e, []byte(c.raw)); (why == "") != c.fit {
			t.Errorf("%s in %+v: %q", c.raw[:min(len(c.raw), 20)], c.e, why)
		}
	}
}

// Where several must agree they agree to the same bytes: an edit is put before
// the others, and an agreement to something else counts no more.
func TestAI06EditAndQuorum(t *testing.T) {
	open := func() (*stage, string) {
		s := newStage(t, Options{})
		q := deploy("alice", "carol", "local")
		q.Terms.Need = 2
		return s, s.open(q)
	}
	const staging = `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging"}}`
	t.Run("the second agrees to the edit", func(t *testing.T) {
		s, id := open()
		local := s.shown("local")
		s.says("alice", staging)
		s.wantPending(id)
		carol := s.shown("carol")
		if carol.Why != "edited" || s.form(carol).RequestedSchema.Properties["modifiedTarget"]["default"] != "staging" {
			t.Errorf("carol is shown %+v", s.form(carol))
		}
		s.answer(s.to(local, approves))
		s.wantNoted(record.ForeignAnswer, "digest_mismatch")
		s.says("carol", approves)
		e := s.wantEnd(Allowed, "")
		if string(e.Args) != `{"target":"staging"}` || e.Ran != carol.Digest || e.Digest != local.Digest {
			t.Errorf("%s, %v", e.Args, e.Modified)
		}
	})
	t.Run("the first had agreed to something else", func(t *testing.T) {
		s, id := open()
		old := s.shown("carol")
		s.says("carol", approves)
		s.says("alice", staging)
		s.wantPending(id)
		s.answer(s.to(old, approves))
		s.wantPending(id)
		s.says("carol", approves)
		if e := s.wantEnd(Allowed, ""); string(e.Args) != `{"target":"staging"}` {
			t.Errorf("%s", e.Args)
		}
	})
	t.Run("they never agree", func(t *testing.T) {
		s, _ := open()
		for i := range 8 {
			if count[Settled](s.acts) > 0 {
				break
			}
			who, target := "alice", "staging"
			if i%2 == 1 {
				who, target = "carol", "development"
			}
			s.says(who, `{"action":"accept","content":{"approve":true,"modifiedTarget":"`+target+`"}}`)
		}
		s.wantEnd(Denied, InvalidModification)
	})
}
