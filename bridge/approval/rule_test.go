package approval

import (
	"bytes"
	"errors"
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
	want := `  - name: granted-` + g.ID + `
    granted:
      by: ["alice"]
      on: "2026-01-01T00:00:00Z"
      asked: ["small-writes"]
      topic: "` + g.Topic + `"
      server: "a-test-server --pass hunter2"
      dir: "/srv"
      command: "c1"
      definition: "` + g.Fingerprint + `"
      args: "{\"n\":1.50,\"path\":\"/a\",\"to\":[\"x\",{\"y\":null}]}"
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
			p, _, err := policy.LoadGrants("grants", []byte(RulesHead+g.Rule()))
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
	for _, tool := range []string{"write_*", "a?", "!x", "a b", "", strings.Repeat("x", 129)} {
		if g := grantTo(t, "bob", tool); g.Keep != "session" {
			t.Errorf("%s: %s", tool, g.Keep)
		}
	}
	if g := grantTo(t, strings.Repeat("b", 65), "write"); g.Keep != "session" {
		t.Errorf("a caller with a long name: %s", g.Keep)
	}
	if g := grantTo(t, strings.Repeat("b", 64), strings.Repeat("x", 128)); g.Keep != "always" {
		t.Errorf("names as long as they may be: %s", g.Keep)
	}
}

// grantTo makes the grant for a caller and a tool that is to be kept always.
func grantTo(t *testing.T, caller, tool string) *Grant {
	s := newStage(t, Options{})
	q := rememberable("alice", "local")
	q.Caller, q.Tool = caller, tool
	s.open(q)
	s.says("alice", keeps("always"))
	return s.end().Made
}

func FuzzRule(f *testing.F) {
	f.Add(`{"a":[1,{"b":"c"}]}`, `{"a":[1,{"b":"c"},2]}`)
	f.Add(`{"\u0000":"\ud83d\ude00"}`, `{}`)
	f.Fuzz(func(t *testing.T, args, other string) {
		g := &Grant{ID: "0a", Keep: "always", Caller: "bob", Via: "request", Method: "tools/call", Tool: "t", Until: began.Add(time.Hour), Made: began,
			Topic: "t1", Dir: "/srv", Command: "c1", Fingerprint: "f1", By: []Who{Participant("alice"), {Door: Local}}, Rules: []string{"ask write_*"}}
		if !readable(args) || !readable(other) {
			t.Skip()
		}
		g.Args = canonicalText(args)
		if !g.writable() {
			t.Skip()
		}
		p, _, err := policy.LoadGrants("grants", []byte(RulesHead+g.Rule()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, g.Rule())
		}
		if back, _, err := ReadGrants("grants", []byte(RulesHead+g.Rule())); err != nil || len(back) != 1 || back[0].Rule() != g.Rule() || !bytes.Equal(back[0].Args, g.Args) {
			t.Fatalf("read back as %+v, %v from\n%s", back, err, g.Rule())
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

// Whatever stands in a file of yeses, what is read of it is what is written
// there, to the letter, or there is an error that says where.
func FuzzGrants(f *testing.F) {
	one := &Grant{ID: "0a", Keep: "always", Caller: "bob", Via: "request", Method: "tools/call", Tool: "t", Args: []byte(`{"path":"/a","n":1}`), Until: began.Add(time.Hour), Made: began,
		Topic: "t1", Dir: "/srv", Command: "c1", Fingerprint: "f1", By: []Who{Participant("alice")}, Rules: []string{"ask write_*"}}
	whole := RulesHead + one.Rule()
	for _, text := range []string{whole, RulesHead, strings.Replace(whole, `"bob"`, `"bob", "eve"`, 1), strings.Replace(whole, "is:", "under:", 1), strings.Replace(whole, "granted-", "Granted-", 1),
		strings.Replace(whole, `\"n\":1`, `\"n\":1.0`, 1), whole + one.Rule(), whole + "default: allow\n", strings.Replace(whole, "until", "until: 9999-12-31\n    #", 1), "&a [*a]", "rules: null"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		grants, _, err := ReadGrants("grants.yaml", text)
		var where *policy.LoadError
		switch {
		case err != nil && (!errors.As(err, &where) || where.Message == "" || grants != nil):
			t.Fatalf("%v, %v", grants, err)
		case err != nil:
			return
		}
		for i := range grants {
			if g := &grants[i]; len(g.By) == 0 || g.Topic == "" || g.Fingerprint == "" || g.Until.IsZero() || !readable(string(g.Args)) {
				t.Errorf("%q is a yes: %+v", text, g)
			}
		}
	})
}

// A rule that somebody has changed by hand is no yes any more, and the error
// says where it stands.
func TestAI18GrantsChangedByHand(t *testing.T) {
	a, b := ruleOf(t, `{"path":"/a","n":1}`), ruleOf(t, `{"path":"/b"}`)
	b.ID = "0b0b0b0b"
	whole := RulesHead + a.Rule() + b.Rule()
	second := strings.Count(RulesHead+a.Rule(), "\n") + 1
	for _, c := range []struct {
		name, old, new string
		line           int
	}{
		{"wider", `"/path": {is: "/b"}`, `"/path": {under: "/"}`, second},
		{"another value", `"/path": {is: "/b"}`, `"/path": {is: "/c"}`, second},
		{"other arguments", `{\"path\":\"/b\"}`, `{\"path\":\"/c\"}`, second},
		{"no arguments", `args: "{\"path\":\"/b\"}"`, `args: "[]"`, second},
		{"not strict", `{\"path\":\"/b\"}`, `{\"path\":\"/x\",\"path\":\"/b\"}`, second},
		{"another caller as well", b.Rule(), strings.Replace(b.Rule(), `from: ["bob"]`, `from: ["bob", "eve"]`, 1), second},
		{"any tool", b.Rule(), strings.Replace(b.Rule(), `allow: ["write_file"]`, `allow: ["*"]`, 1), second},
		{"no conditions", "    when: \"size(args) == 1\"\n", "", second},
		{"without an end", b.Rule(), b.Rule()[:strings.Index(b.Rule(), "    until:")], second},
		{"another name", "granted-0b0b0b0b", "mine", second},
		{"nobody", b.Rule(), strings.Replace(b.Rule(), "      by: [\"alice\"]\n", "", 1), second + 2},
		{"nobody named", b.Rule(), strings.Replace(b.Rule(), `by: ["alice"]`, "by: []", 1), second + 2},
		{"no definition", b.Rule(), strings.Replace(b.Rule(), "      definition: \""+b.Fingerprint+"\"\n", "", 1), second + 2},
		{"no such day", b.Rule(), strings.Replace(b.Rule(), `on: "2026`, `on: "last`, 1), second + 3},
		{"a key nobody knows", b.Rule(), strings.Replace(b.Rule(), "      topic:", "      who: x\n      topic:", 1), second + 5},
		{"a rule of another kind", b.Rule(), "  - deny: [\"x\"]\n    granted: {}\n", second + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(whole, c.old, c.new, 1)
			if text == whole {
				t.Fatal("nothing is changed")
			}
			grants, _, err := ReadGrants("grants.yaml", []byte(text))
			var where *policy.LoadError
			if !errors.As(err, &where) || where.Suggestion == "" && where.Line == second {
				t.Fatalf("%+v, %v\n%s", grants, err, text)
			}
			if where.File != "grants.yaml" || where.Line != c.line || grants != nil {
				t.Errorf("%d: %v\n%s", where.Line, where, text)
			}
		})
	}
}

// Files of earlier versions said who agreed in a comment, and nothing of the
// tool.
func TestGrantsOfEarlierVersions(t *testing.T) {
	old := "  # agreed by alice on 2026-01-01\n  - name: granted-0a0a0a0a\n    allow: [\"write_file\"]\n    from: [\"bob\"]\n    via: \"request\"\n    when: \"size(args) == 0\"\n    until: \"2099-01-31T00:00:00Z\"\n"
	a := ruleOf(t, `{"path":"/a"}`)
	grants, unbound, err := ReadGrants("grants", []byte(RulesHead+old+a.Rule()))
	if err != nil || len(grants) != 1 || grants[0].ID != a.ID || len(unbound) != 1 || unbound[0].Rule != "granted-0a0a0a0a" || unbound[0].Line != 5 {
		t.Errorf("%+v, %+v, %v", grants, unbound, err)
	}
}

// In a policy such a rule would hold for whoever agreed and however the tool is
// defined, though it says otherwise.
func TestAPolicyTellsOfNoYes(t *testing.T) {
	_, err := policy.Load("policy.yaml", []byte(RulesHead+ruleOf(t, `{}`).Rule()))
	var where *policy.LoadError
	if !errors.As(err, &where) || where.Line != 6 || !strings.Contains(where.Suggestion, "leave it out") {
		t.Errorf("%v", err)
	}
}
