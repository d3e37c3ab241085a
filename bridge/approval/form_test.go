package approval

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What a stock participant is sent, byte for byte: seed 003, pattern 1, and
// everything that RELIABILITY AI-16 wants to be said.
func TestAI16Golden(t *testing.T) { // WIRE O39
	s := newStage(t, Options{})
	q := writeFile("alice")
	q.Terms.Priority, q.About, q.Hints = "high", "Write a file", policy.Hints{ReadOnly: new(false), Destructive: new(true)}
	s.open(q)
	show := s.shown("alice")
	d, short := show.Digest.String(), show.Digest.Short()
	meta := `{"elicitationType":"tool_approval","timeout":60,"priority":"high","originalRequest":{"from":"bob","tool":"write_file",` +
		`"arguments":{"path":"/a","text":"x"},"requestId":7,"envelopeId":"e7"},"why":{"via":"request","rules":["small-writes"],"about":"Write a file","hints":["writes","may destroy"],"asked":["alice"]},"digest":"` + d + `"}`
	want := `{"message":"bob requests permission to execute write_file on fs [` + short + `]",` +
		`"requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve this tool call?","description":` +
		`"Tool: write_file\nCaller: bob\nArguments: {\"path\":\"/a\",\"text\":\"x\"}\nBridge: fs (a-test-server)\nTopic: t1\nRule: small-writes\n` +
		`Decide by: 2026-01-01 00:01:00 UTC (in 1m0s)\nDigest: ` + short + `"},` +
		`"reason":{"type":"string","title":"Reason (optional)","description":"Provide a reason for your decision"}},"required":["approve"]},` +
		`"metadata":` + meta + `,"_meta":{"mcpx/approval":` + meta + `}}`
	if got := string(show.Params); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if string(show.RPC) != `"elicit-`+show.Ask+`"` || !show.By.Equal(began.Add(time.Minute)) {
		t.Errorf("%+v", show)
	}
}

func TestPattern2(t *testing.T) { // seed 003
	s := newStage(t, Options{})
	q := deploy("alice")
	q.Terms.Remember = []string{"once", "always"}
	s.open(q)
	var f struct {
		RequestedSchema struct {
			Properties json.RawMessage
			Required   []string
		}
	}
	if err := json.Unmarshal(s.shown("alice").Params, &f); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"modifiedTarget":{"type":"string","title":"Target system","default":"production","enum":["production","staging","development"]}`,
		`"timeout":{"type":"number","title":"Timeout (seconds)","default":30,"minimum":1,"maximum":300}`,
		`"remember":{"type":"string","title":"Remember this answer (optional)","description":"For this caller, this tool and exactly these arguments. once: this one call; the next is asked about again. always: the same call with exactly these arguments runs unasked for 30 days, after a restart too","enum":["once","always"]}`,
		`"approve":{"type":"boolean"`,
	} {
		if !strings.Contains(string(f.RequestedSchema.Properties), want) {
			t.Errorf("no %s in\n%s", want, f.RequestedSchema.Properties)
		}
	}
	if len(f.RequestedSchema.Required) != 1 || f.RequestedSchema.Required[0] != "approve" {
		t.Errorf("required %v", f.RequestedSchema.Required)
	}
}

func TestPattern3(t *testing.T) { // seed 003; DESIGN 14: no approve, edit fields beside it
	s := newStage(t, Options{})
	s.open(passable(deploy("alice"), "carol"))
	f := s.form(s.shown("alice"))
	p := f.RequestedSchema.Properties
	enum, _ := json.Marshal([]any{p["action"]["enum"], p["action"]["enumNames"], f.RequestedSchema.Required})
	if string(enum) != `[["approve","deny","delegate"],["Approve","Deny","Delegate to another user"],["action"]]` {
		t.Errorf("%s", enum)
	}
	if to, _ := json.Marshal(p["delegateTo"]["enum"]); string(to) != `["carol"]` {
		t.Errorf("it may be passed on to %s", to)
	}
	if p["delegateTo"]["title"] != "Delegate to (participant ID)" || p["delegateTo"]["type"] != "string" || p["modifiedTarget"] == nil || p["reason"] == nil || p["approve"] != nil {
		t.Errorf("%v", p)
	}
	if !strings.Contains(p["action"]["description"].(string), "Caller: bob") {
		t.Errorf("%v", p["action"])
	}
}

// Forms are flat and of primitives only, and no property decides by default.
func TestFormsHaveNoDefaultDecision(t *testing.T) {
	s := newStage(t, Options{})
	s.open(deploy("alice"))
	s.open(passable(rememberable("carol"), "dave"))
	for _, who := range []string{"alice", "carol"} {
		f := s.form(s.shown(who))
		for name, p := range f.RequestedSchema.Properties {
			if (name == "approve" || name == "action" || name == "delegateTo" || name == "remember") && p["default"] != nil {
				t.Errorf("%s has the default %v", name, p["default"])
			}
			if kind := p["type"]; kind != "string" && kind != "boolean" && kind != "number" && kind != "integer" {
				t.Errorf("%s is a %v", name, kind)
			}
		}
	}
}

func TestAI21TheProposerIsShownToo(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("alice", "local")
	q.Via, q.RPC, q.Proposer, q.Unverified = "proposal", nil, "dave", true
	s.open(q)
	f := s.form(s.shown("alice"))
	if f.Metadata.OriginalRequest["requestId"] != nil || string(f.Metadata.OriginalRequest["proposer"]) != `"dave"` {
		t.Errorf("%s", f.Metadata.OriginalRequest)
	}
	description := f.RequestedSchema.Properties["approve"]["description"].(string)
	if !strings.Contains(description, "Proposed by: dave\n") || !strings.Contains(description, "Warning: this gateway does not verify who sends what\n") {
		t.Errorf("%s", description)
	}
}

func TestQuestionAboutAnotherMethod(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("alice")
	q.Method, q.Tool, q.Args = "logging/setLevel", "", []byte(`{"level":"debug"}`)
	s.open(q)
	f := s.form(s.shown("alice"))
	if !strings.HasPrefix(f.Message, "bob requests permission to set the log level on fs") || string(f.Metadata.OriginalRequest["method"]) != `"logging/setLevel"` {
		t.Errorf("%s", s.shown("alice").Params)
	}
}

// AI-24: what is hidden stays off the topic, in every form, and the digest
// covers the real value.
func TestAI24Redaction(t *testing.T) {
	for name, hide := range map[string]func([]byte) []byte{
		"by policy": func(a []byte) []byte { return policy.Default().Redact(a) },
		"all of it": nil,
		"broken":    func([]byte) []byte { return []byte(`{"x":`) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, Options{})
			s.hide = hide
			if hide == nil {
				s.d.SetRedactor(nil)
			}
			q := passable(writeFile("alice", "carol", "local"), "dave")
			q.Args = []byte(`{"path":"/a","api_token":"planted-secret","deep":{"password":"planted-too"}}`)
			q.Terms.Edit = []policy.Edit{{Field: "key", Arg: "/api_token", Type: "string"}, {Field: "path", Arg: "/path", Type: "string"}}
			id := s.open(q)
			s.did(s.d.Reask(s.now))
			s.did(s.d.Joined(s.now, Participant("carol")))
			s.says("alice", passTo("bob"))
			s.says("alice", passTo("dave"))
			for _, a := range s.acts {
				if show, ok := a.(Show); ok && strings.Contains(string(show.Params), "planted") {
					t.Errorf("%s is sent %s", show.To, show.Params)
				}
			}
			if p := s.form(s.shown("dave")).RequestedSchema.Properties; p["key"]["default"] != nil || (p["path"]["default"] == "/a") != (name == "by policy") {
				t.Errorf("defaults %v and %v", p["key"]["default"], p["path"]["default"])
			}
			v, _ := s.d.View(s.now, id, false)
			if !strings.Contains(v.Text(), "planted-secret") || !strings.Contains(v.Text(), "planted-too") {
				t.Errorf("the person at this machine sees %s", v.Text())
			}
			other := newStage(t, Options{})
			q.Args = []byte(`{"path":"/a","api_token":"another","deep":{"password":"planted-too"}}`)
			other.open(q)
			if other.shown("alice").Digest == s.shown("alice").Digest {
				t.Error("the digest does not cover what is hidden")
			}
		})
	}
}

// Long arguments do not make long frames.
func TestMetadataIsBounded(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("alice")
	q.Args = []byte(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	s.open(q)
	if n := len(s.shown("alice").Params); n > 16<<10 {
		t.Errorf("%d bytes", n)
	}
	if o := s.form(s.shown("alice")).Metadata.OriginalRequest; o["arguments"] != nil || string(o["argumentsBytes"]) != "1048587" {
		t.Errorf("%s", o["argumentsBytes"])
	}
}

// What a question needs was spelled in two ways: here without who has agreed.
func TestViewSaysWhoAgrees(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("alice", "local")
	q.Terms.Need = 2
	id := s.open(q)
	s.says("alice", approves)
	v, ok := s.d.View(s.now, id, false)
	if !ok || !strings.Contains(v.Text(), "\nNeeds: 2; alice agreed\n") || v.Needs() != "2; alice agreed" {
		t.Errorf("%s", v.Text())
	}
}

func TestView(t *testing.T) {
	s := newStage(t, Options{})
	q := passable(rememberable("alice", "local"), "carol")
	q.Terms.Need, q.Terms.Priority = 2, "high"
	q.Terms.Edit = deploy().Terms.Edit[1:]
	id := s.open(q)
	s.says("alice", passTo("carol"))
	s.pass(15 * time.Second)
	v, ok := s.d.View(s.now, id, false)
	if !ok {
		t.Fatal("no view")
	}
	want := `bob requests permission to execute write_file
Tool: write_file
Caller: bob
Bridge: fs (a-test-server --pass hunter2)
Topic: t1
Rule: small-writes
Needs: 2 who agree
Passed on: by alice to carol
Decide by: 2026-01-01 00:01:00 UTC (in 45s)
Digest: ` + v.Short + `
Arguments:
  /path = "/a"
  /text = "x"
`
	if got := v.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	people, _ := json.Marshal(v.People)
	if string(people) != `[{"who":"alice","state":"passed it on"},{"who":"local","state":"asked"},{"who":"carol","state":"asked","from":"alice"}]` {
		t.Errorf("%s", people)
	}
	if len(v.DelegateTo) != 1 || len(v.Remember) != 3 || len(v.Edits) != 1 || v.Edits[0].Now != "30" || v.Priority != "high" {
		t.Errorf("%+v", v)
	}
	if _, ok := s.d.View(s.now, "x", false); ok {
		t.Error("a view of nothing")
	}
}

func TestPendingAndResolve(t *testing.T) {
	s := newStage(t, Options{})
	a, b := s.open(writeFile("alice", "local")), s.open(deploy("local"))
	all := s.d.Pending(0, 0)
	if len(all) != 2 || all[0].ID != a || all[1].ID != b || all[1].Tool != "deploy" || string(all[0].Args) != `{"path":"/a","text":"x"}` || len(all[0].Asking) != 2 {
		t.Errorf("%+v", all)
	}
	if page := s.d.Pending(1, 1); len(page) != 1 || page[0].ID != b {
		t.Errorf("%+v", page)
	}
	if page := s.d.Pending(7, 1); len(page) != 0 {
		t.Errorf("%+v", page)
	}
	if ids := s.d.Resolve(a[:31]); len(ids) < 1 || s.d.Waiting(b)[0] != "local" {
		t.Errorf("%v", ids)
	}
}

// The reply that our own doors put together says what they mean.
func TestReply(t *testing.T) {
	for _, c := range []struct {
		reply Reply
		want  string
	}{
		{Reply{}, `declined by local`},
		{Reply{Reason: "no \"way\""}, `declined by local: no "way"`},
		{Reply{Allow: true, Reason: "ok"}, `allowed by local: ok`},
		{Reply{To: "carol"}, `delegated`},
		{Reply{Allow: true, Fields: []Entry{{"modifiedTarget", []byte(`"staging"`)}}}, `allowed by local with {"target":"staging"}`},
		{Reply{Allow: true, Remember: "session"}, `allowed by local for session`},
	} {
		for _, delegating := range []bool{false, true} {
			if c.reply.To != "" && !delegating {
				continue
			}
			s := newStage(t, Options{})
			q := deploy("local")
			q.Terms.Remember = []string{"session"}
			if delegating {
				q = passable(q, "carol")
			}
			s.open(q)
			s.says("local", string(c.reply.Result(delegating)))
			got := ""
			if e, ok := last[Settled](s, nil); !ok {
				got = s.shown("carol").Why
			} else {
				got = e.Reason
				if e.Outcome == Allowed {
					got = "allowed"
				}
				got += " by " + e.By[0].String()
				if e.Said != "" {
					got += ": " + e.Said
				}
				if e.Modified != nil {
					got += " with " + string(e.Args)
				}
				if e.Made != nil {
					got += " for " + e.Made.Keep
				}
			}
			if got != c.want {
				t.Errorf("%+v: %s, want %s", c.reply, got, c.want)
			}
		}
	}
}
