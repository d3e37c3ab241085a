package approval

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// ruleOf makes the grant for a call whose arguments are args.
func ruleOf(t *testing.T, args string) *Grant {
	s := newStage(t, Options{})
	q := rememberable("alice", "local")
	q.Args = []byte(args)
	s.open(q)
	s.says("alice", keeps("always"))
	return s.wantEnd(Allowed, "").Made
}

func TestAI18TheRuleOfAGrant(t *testing.T) {
	g := ruleOf(t, `{"path":"/a","n":1.50,"to":["x",{"y":null}]}`)
	want := `  # agreed by alice on 2026-01-01, asked by small-writes
  - name: granted-` + g.ID + `
    allow: ["write_file"]
    from: ["bob"]
    via: "request"
    args:
      "/n": {is: 1.50}
      "/path": {is: "/a"}
      "/to": {type: array}
      "/to/0": {is: "x"}
      "/to/1": {type: object}
      "/to/1/y": {is: null}
    when: "size(args) == 3 && size(args[\"to\"]) == 2 && size(args[\"to\"][1]) == 1"
    until: "2026-01-31T00:00:00Z"
`
	if got := g.Rule(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The rule allows the call it was made of, and nothing near it.
func TestAI18TheRuleMeansTheGrantAndNoMore(t *testing.T) {
	for _, c := range []struct {
		args  string
		other []string
	}{
		{`{}`, []string{`{"a":1}`}},
		{`{"path":"/a","text":"x"}`, []string{`{}`, `{"path":"/a"}`, `{"path":"/a","text":"x","mode":1}`, `{"path":"/a","text":"X"}`, `{"path":"/a","text":null}`, `{"path":"/a","Text":"x"}`}},
		{`{"n":9007199254740993}`, []string{`{"n":9007199254740992}`, `{"n":"9007199254740993"}`}},
		{`{"a":[],"o":{}}`, []string{`{"a":[1],"o":{}}`, `{"a":[],"o":{"x":1}}`, `{"a":{},"o":[]}`, `{"a":"","o":{}}`, `{"a":null,"o":null}`}},
		{`{"o":{"l":[1,[2,"3"]]}}`, []string{`{"o":{"l":[1,[2,"3"],4]}}`, `{"o":{"l":[1,[2,"3",4]]}}`, `{"o":{"l":[1,[2,3]]}}`, `{"o":{"l":{"0":1,"1":[2,"3"]}}}`}},
		{`{"a/b":{"~":true},"weird \"key\"\n":"va\\lue \u202e 😀","é":"yes"}`, []string{`{"a/b":{"~":false},"weird \"key\"\n":"va\\lue \u202e 😀","é":"yes"}`, `{"a/b":{"~":true},"weird \"key\"\n":"value \u202e 😀","é":"yes"}`}},
		{`{"t":"true","n":"1","z":"null","d":"2026-01-01","s":" "}`, []string{`{"t":true,"n":1,"z":null,"d":"2026-01-01","s":" "}`, `{"t":"true","n":"1","z":"null","d":"2026-01-01","s":""}`}},
	} {
		t.Run(c.args, func(t *testing.T) {
			g := ruleOf(t, c.args)
			if g.Keep != "always" {
				t.Fatalf("kept for %s only", g.Keep)
			}
			p, err := policy.Load("grants", []byte(RulesHead+g.Rule()))
			if err != nil {
				t.Fatalf("%v in\n%s", err, g.Rule())
			}
			call := policy.Call{From: "bob", Via: "request", Method: "tools/call", Tool: "write_file", Args: []byte(c.args), Now: began}
			if d := p.Decide(call, nil); d.Verdict != policy.Allow || d.Rule != g.RuleName() {
				t.Errorf("%v %+v\n%s", d, d.Reasons, g.Rule())
			}
			for name, change := range map[string]func(*policy.Call){
				"caller": func(c *policy.Call) { c.From = "bobby" }, "tool": func(c *policy.Call) { c.Tool = "write_files" },
				"way": func(c *policy.Call) { c.Via = "proposal" }, "end": func(c *policy.Call) { c.Now = g.Until.Add(time.Second) },
				"method": func(c *policy.Call) { c.Method = "prompts/run" },
			} {
				other := call
				change(&other)
				if d := p.Decide(other, nil); d.Verdict == policy.Allow {
					t.Errorf("another %s: %v", name, d)
				}
			}
			for _, args := range c.other {
				other := call
				other.Args = []byte(args)
				if d := p.Decide(other, nil); d.Verdict == policy.Allow {
					t.Errorf("%s: %v\n%s", args, d, g.Rule())
				}
			}
		})
	}
}

// What no readable rule could say is remembered for the session.
func TestGrantsThatNoRuleCanSay(t *testing.T) {
	long := make([]string, 100)
	for i := range long {
		long[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	for _, args := range []string{`{"*":1}`, `{"":1}`, `{"n":1e400}`, `{"n":` + strings.Repeat("9", 30) + `}`, "{" + strings.Join(long, ",") + "}",
		`{"s":"` + strings.Repeat("x", 5000) + `"}`} {
		if g := ruleOf(t, args); g.Keep != "session" || g.Until != began.Add(8*time.Hour) {
			t.Errorf("%.40s: %s", args, g.Keep)
		}
	}
	for _, tool := range []string{"write_*", "a?", "!x", "a b", ""} {
		s := newStage(t, Options{})
		q := rememberable("alice")
		q.Tool = tool
		s.open(q)
		s.says("alice", keeps("always"))
		if g := s.end().Made; g.Keep != "session" {
			t.Errorf("%s: %s", tool, g.Keep)
		}
	}
}

func FuzzRule(f *testing.F) {
	f.Add(`{"a":[1,{"b":"c"}]}`, `{"a":[1,{"b":"c"},2]}`)
	f.Add(`{"\u0000":"\ud83d\ude00"}`, `{}`)
	f.Fuzz(func(t *testing.T, args, other string) {
		g := &Grant{ID: "0a", Keep: "always", Caller: "bob", Via: "request", Method: "tools/call", Tool: "t", Until: began.Add(time.Hour), Made: began}
		if !readable(args) || !readable(other) {
			t.Skip()
		}
		g.Args = canonicalText(args)
		if !g.writable() {
			t.Skip()
		}
		p, err := policy.Load("grants", []byte(RulesHead+g.Rule()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, g.Rule())
		}
		call := policy.Call{From: "bob", Via: "request", Method: "tools/call", Tool: "t", Args: []byte(args), Now: began}
		if d := p.Decide(call, nil); d.Verdict != policy.Allow {
			t.Fatalf("%s: %+v\n%s", args, d.Reasons, g.Rule())
		}
		call.Args = []byte(other)
		if d := p.Decide(call, nil); d.Verdict == policy.Allow && !alike(g.Args, canonicalText(other)) {
			t.Fatalf("%s lets %s through\n%s", args, other, g.Rule())
		}
	})
}
