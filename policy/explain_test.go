package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// The words that people read, whole.
func TestExplain(t *testing.T) {
	p := load(t, designed)
	at := func(from, tool, args string) policy.Decision {
		return p.Decide(policy.Call{From: from, Via: "request", Method: "tools/call", Tool: tool, Args: []byte(args)}, nil)
	}
	unanswerable := load(t, "default: ask\nasks: {default: {of: [ann, bob], need: 2}}\n")
	limited := load(t, "default: deny\nrules:\n- {allow: t, limit: {count: 9/day, sum: {arg: /amount, max: 50}}}\n")
	shared := load(t, "default: deny\nrules:\n- {allow: t, limit: {per: all, sum: {arg: /secret, max: 50, window: 2h}}}\n")
	hidden := shared.Decide(call(`{"secret":30}`), nil)
	hidden.Limits = shared.ForRecord(hidden.Limits, []byte(`{"secret":30}`))
	for _, c := range []struct {
		d    policy.Decision
		want string
	}{
		{limited.Decide(call(`{"amount":30}`), nil), `ALLOW: t from agent
  because of allow t (line 3): the tool is t
  takes 1 call and 30 from agent's limit in allow t, for a day
rules:
  allow allow t (line 3): the tool is t
`},
		{hidden, `ALLOW: t from agent
  because of allow t (line 3): the tool is t
  takes 1 call and an amount that is hidden from everybody's limit in allow t, for 2h
rules:
  allow allow t (line 3): the tool is t
`},
		{load(t, `{default: ask, rules: [{deny: t, args: {u: {glob: "**/*.pem"}}}]}`).Decide(call(`{"u":"file:///srv/a.pem?x"}`), nil), `DENY: t from agent
  because of deny t (line 1): args.u "file:///srv/a.pem?x" glob **/*.pem: cannot be told, not every program takes it for the same URL
rules:
  deny  deny t (line 1): args.u "file:///srv/a.pem?x" glob **/*.pem: cannot be told, not every program takes it for the same URL
`},
		{at("x", "read_file", `{"path":"/home/a/.ssh/id"}`), `DENY: read_file from x
  because of never-secrets (line 19): tool read_file fits *; args.path "/home/a/.ssh/id" glob **/.ssh/** or **/.env*: yes
  the caller is told: Credential files are off limits; ask for the value by name.
rules:
  -     reads (line 18): args.path "/home/a/.ssh/id" under /srv/docs: no
  deny  never-secrets (line 19): tool read_file fits *; args.path "/home/a/.ssh/id" glob **/.ssh/** or **/.env*: yes
  -     small-writes (line 23): the tool is none of write_file
  -     deploys (line 24): the tool is none of deploy
  -     refunds (line 25): the tool is none of create_refund
`},
		{at("dev-agent", "deploy", `{"target":"production"}`), `ASK: deploy from dev-agent
  because of deploys (line 24): the tool is deploy; when args.target == "production": yes
  asked: 2 of alice, bob, within 30m, priority high
  may be changed: Target system (/target)
  may be changed: Timeout in seconds (@timeout)
  may be passed on to: alice, bob, carol
rules:
  -     reads (line 18): the tool is none of read_*, list_*
  -     never-secrets (line 19): args.path (absent) glob **/.ssh/** or **/.env*: no
  -     small-writes (line 23): the tool is none of write_file
  ask   deploys (line 24): the tool is deploy; when args.target == "production": yes
  -     refunds (line 25): the tool is none of create_refund
`},
		{at("x", "read_file", `{"path":"/srv/docs/plan.md"}`), `ALLOW: read_file from x
  because of reads (line 18): tool read_file fits read_*; args.path "/srv/docs/plan.md" under /srv/docs: yes
rules:
  allow reads (line 18): tool read_file fits read_*; args.path "/srv/docs/plan.md" under /srv/docs: yes
  -     never-secrets (line 19): args.path "/srv/docs/plan.md" glob **/.ssh/** or **/.env*: no
  -     small-writes (line 23): the tool is none of write_file
  -     deploys (line 24): the tool is none of deploy
  -     refunds (line 25): the tool is none of create_refund
`},
		// who was declined never heard what the rule that asked says, though that stood here
		{load(t, "default: deny\nrules:\n- {ask: [t], say: Deletes need two.}\n").Decide(call(`{}`), nil), `ASK: t from agent
  because of ask t (line 3): the tool is t
  asked: local (the person at the bridge), within 5m
rules:
  ask   ask t (line 3): the tool is t
`},
		{unanswerable.Decide(policy.Call{From: "ann", Via: "proposal", Method: "tools/call", Tool: "a b\u202e"}, nil), `ASK: "a b\u{202e}" from ann, as a proposal
  because no rule matches, and the default is ask
  nobody can agree: it takes 2, and 1 may
`},
		{load(t, "default: ask\nasks: {default: {of: ann}}\n").Decide(policy.Call{From: "ann", Method: "logging/setLevel"}, nil), `ASK: logging/setLevel from ann
  because no rule matches, and the default is ask
  nobody can agree: it takes 1, and 0 may
`},
		{load(t, "default: ask\nasks: {default: {of: [ann, bob], mode: sequential, within: 2h}}\n").Decide(policy.Call{From: "x", Method: "x"}, nil), `ASK: x from x
  because no rule matches, and the default is ask
  asked: ann, bob, within 2h, one after the other
`},
		{load(t, "default: ask\nasks: {default: {of: [local, ann], delegate: {to: host}}}\n").Decide(policy.Call{From: "x", Method: "x"}, nil), `ASK: x from x
  because no rule matches, and the default is ask
  asked: local (the person at the bridge), ann, within 5m
  may be passed on to: host (the person whose client calls)
`},
		{load(t, "default: deny\nrules:\n- {ask: t, args: {x: {max: 5}}}\n").Decide(call(`{"x":"5"}`), nil), `DENY: t from agent
  because no rule matches for certain, and the default is deny
rules:
  ask   ask t (line 3): args.x "5" max 5: cannot be told, it is a string
`},
		{policy.Default().Decide(policy.Call{From: "x", Method: "prompts/get", Tool: "hello"}, nil), `ASK: prompts/get hello from x
  because no rule matches, and the default is ask
  asked: local (the person at the bridge), within 5m
`},
		{policy.Default().Decide(policy.Call{From: "x", Method: "prompts/list"}, nil), `ALLOW: prompts/list from x
  because prompts/list passes unless a rule names it
`},
		{policy.Decision{}, `DENY: "" from ""
  because no rule matches, and the default is deny
`},
	} {
		if got := policy.Explain(c.d, ""); got != c.want {
			t.Errorf("got\n%swant\n%s", got, c.want)
		}
	}
	if got, want := policy.Explain(policy.Decision{}, `{"a":1}`), "DENY: \"\" from \"\"\n  with {\"a\":1}\n  because no"; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A reason shows no more than a little of a long value, and nothing that would
// move a cursor or turn the text around.
func TestReasonsAreTame(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"a":"\u001b[2J\u202e\ue000"}`, `args.a "\u{1b}[2J\u{202e}\u{e000}" is 5: cannot be told, it is a string`},
		{`{"a":"` + many("é", 100) + `"}`, `args.a "` + many("é", 80) + `"… (200 bytes, sha256 f42ec48e) is 5: cannot be told, it is a string`},
		{`{"a":"x` + many("é", 100) + `"}`, `args.a "x` + many("é", 79) + `"… (201 bytes, sha256 47326d88) is 5: cannot be told, it is a string`},
		{`{"a":[1,2]}`, `args.a (a list of 2) is 5: cannot be told, it is an array`},
		{`{"a":{"x":1}}`, `args.a (an object of 1) is 5: cannot be told, it is an object`},
		{`{"a":null}`, `args.a null is 5: cannot be told, it is null`},
		{`{"a":false}`, `args.a false is 5: cannot be told, it is a boolean`},
		{`{"a":` + many("1", 300) + `}`, `args.a ` + many("1", 80) + ` is 5: no`},
	} {
		p := load(t, arg("a: {is: 5}"))
		if got := p.Decide(call(c.args), nil).Reasons[0].Why; got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// A tool's name may be any bytes where no frame has checked them: one that is cut
// is cut between bytes.
func TestANameThatIsJustBytes(t *testing.T) {
	c := policy.Call{From: "ann", Method: "tools/call", Tool: many("\x80", 81)}
	want := `DENY: "` + many(`\u{80}`, 80) + `"… (81 bytes, sha256 b03b5da6) from ann` + "\n"
	if got := policy.Explain(load(t, "default: deny\n").Decide(c, nil), ""); !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

func many(s string, n int) string {
	var out strings.Builder
	for range n {
		out.WriteString(s)
	}
	return out.String()
}

func TestInlineTests(t *testing.T) {
	p := load(t, `
default: deny
rules:
- {name: a, allow: x, args: {n: {is: 1.50}, l: {has: b}, "/o/k": {is: null}, s: {is: "5"}}}
- {name: b, allow: x, via: proposal, from: bob, hints: {readOnly: true}, hours: "mon 00:00-24:00 UTC"}
- {name: c, ask: "*", methods: [logging/setLevel]}
server: {trust_hints: true}
proposals: {fulfil: policy}
tests:
- {name: mine, call: {tool: x, args: {n: 1.5, l: [a, b], o: {k: null}, s: "5"}}, want: allow, by: a}
- {call: {tool: x, from: bob, via: proposal, hints: {readOnly: true}, now: "2026-03-02T10:00:00Z"}, want: allow, by: b}
- {call: {tool: x, from: bob, via: proposal, hints: {readOnly: true}, now: "2026-03-03T10:00:00Z"}, want: deny, by: default}
- {call: {method: logging/setLevel}, want: ask}
- {call: {tool: x}, want: allow}
- {call: {tool: y}, want: deny, by: a}
- {call: {tool: y}, want: deny, by: proposals.fulfil}
`)
	results := p.Test()
	for i, want := range []bool{true, true, true, true, false, false, false} {
		if results[i].Passed != want {
			t.Errorf("%d: %+v", i, results[i])
		}
	}
	if results[0].Name != "mine" || results[1].Name != "x from bob, as a proposal" || results[3].Name != "logging/setLevel from someone" || results[0].Line != 10 {
		t.Errorf("%+v", results)
	}
}

func TestDiff(t *testing.T) {
	old := load(t, "default: deny\nrules:\n- {allow: t, name: r, limit: {count: 3/hour}}\n")
	tight := load(t, "default: deny\nrules:\n- {allow: t, name: r, limit: {count: 2/hour, over: ask}}\n- {ask: u}\n")
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	var calls []policy.Call
	for i := range 4 {
		calls = append(calls, policy.Call{From: "x", Method: "tools/call", Tool: "t", Now: now.Add(time.Duration(i) * time.Minute)})
	}
	calls = append(calls, policy.Call{From: "x", Method: "tools/call", Tool: "u", Now: now})
	changes := policy.Diff(old, tight, calls)
	var got strings.Builder
	for _, c := range changes {
		got.WriteString(c.Call.Tool + c.Call.Now.Format("04") + " " + c.Before.Verdict.String() + ">" + c.After.Verdict.String() + " ")
	}
	if got.String() != "t02 allow>ask t03 deny>ask u00 deny>ask " {
		t.Errorf("%s", got.String())
	}
	if same := policy.Diff(old, old, calls); same != nil {
		t.Errorf("%+v", same)
	}
}
