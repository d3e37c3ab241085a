package policy_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// The file that DESIGN 6 shows.
const designed = `
version: 1
default: ask
approvers:
  ops: [alice, bob]
asks:
  default: {of: [local, ops], need: 1, within: 5m, remember: [once]}
  careful:
    of: [ops]
    need: 2
    within: 30m
    priority: high
    delegate: {to: [ops, carol], depth: 2}
    edit:
      target:  {arg: /target, title: Target system, enum: [production, staging, development]}
      timeout: {arg: "@timeout", title: Timeout in seconds, min: 1, max: 300}
rules:
  - {name: reads, allow: ["read_*", "list_*"], args: {path: {under: /srv/docs}}}
  - name: never-secrets
    deny: ["*"]
    args: {path: {glob: ["**/.ssh/**", "**/.env*"]}}
    say: Credential files are off limits; ask for the value by name.
  - {name: small-writes, ask: [write_file], from: ["*-agent"], except: {args: {content: {maxlen: 4096}}}}
  - {name: deploys, ask: [deploy], as: careful, when: 'args.target == "production"'}
  - {name: refunds, allow: [create_refund], limit: {count: 10/day, sum: {arg: /amount, max: 500}, per: caller, over: ask}}
proposals: {fulfil: ask, broadcast: false, reject_untargeted: never}
server: {pin: ask}
redact: ["*token*", "*password*", "*secret*"]
tests:
  - {call: {tool: read_file, from: x, args: {path: /home/a/.ssh/id}}, want: deny, by: never-secrets}
`

func TestDesignedFile(t *testing.T) {
	p := load(t, designed)
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"path":"/srv/docs/a"}`, "allow (reads, line 18)"},
		{"read_file", `{"path":"/srv/docs/../x"}`, "ask (no rule matched)"},
		{"read_file", `{"path":"/srv/docs/.env"}`, "deny (never-secrets, line 19)"},
		{"read_file", `{"path":5}`, "deny (never-secrets, line 19)"},
		{"read_file", `{}`, "ask (no rule matched)"},
		{"write_file", `{"content":"x"}`, "ask (no rule matched)"},
		{"write_file", `{"content":"` + strings.Repeat("x", 5000) + `"}`, "ask (small-writes, line 23)"},
		{"write_file", `{"content":7}`, "ask (small-writes, line 23)"},
		{"deploy", `{"target":"production"}`, "ask (deploys, line 24)"},
		{"deploy", `{"target":"staging"}`, "ask (no rule matched)"},
		{"deploy", `{}`, "ask (deploys, line 24)"},
		{"create_refund", `{"amount":500}`, "allow (refunds, line 25)"},
		{"create_refund", `{"amount":500.01}`, "ask (refunds, line 25)"},
		{"create_refund", `{"amount":"5"}`, "ask (refunds, line 25)"},
		{"create_refund", `{}`, "ask (refunds, line 25)"},
	} {
		d := p.Decide(policy.Call{From: "x-agent", Via: "request", Method: "tools/call", Tool: c.tool, Args: []byte(c.args)}, nil)
		if d.String() != c.want {
			t.Errorf("%s %.60s: %s, want %s\n%s", c.tool, c.args, d, c.want, policy.Explain(d, ""))
		}
	}
	for _, r := range p.Test() {
		if !r.Passed {
			t.Errorf("%+v", r)
		}
	}
	if p.Default != policy.Ask || p.Proposals != (policy.Proposals{Fulfil: "ask", RejectUntargeted: "never"}) || !reflect.DeepEqual(p.Server, policy.Server{Pin: "ask"}) {
		t.Errorf("%+v", p)
	}
	if got := p.Participants(); !slices.Equal(got, []string{"alice", "bob", "carol"}) || !p.AsksOthers() {
		t.Errorf("participants: %q", got)
	}
}

func TestAskTerms(t *testing.T) {
	p := load(t, designed)
	d := p.Decide(policy.Call{From: "x-agent", Method: "tools/call", Tool: "deploy", Args: []byte(`{"target":"production"}`)}, nil)
	want := &policy.Terms{Of: []string{"alice", "bob"}, Need: 2, Within: 30 * time.Minute, Mode: "parallel", Priority: "high",
		Delegate: &policy.Delegate{To: []string{"alice", "bob", "carol"}, Depth: 2},
		Edit: []policy.Edit{
			{Field: "target", Arg: "/target", Title: "Target system", Type: "string", Enum: []string{`"production"`, `"staging"`, `"development"`}},
			{Field: "timeout", Arg: "@timeout", Title: "Timeout in seconds", Type: "number", Min: "1", Max: "300"}},
		Remember: []string{"once"}, Rules: []string{"deploys"}}
	if !reflect.DeepEqual(d.Ask, want) {
		t.Errorf("got  %+v\nwant %+v", d.Ask, want)
	}
	byDefault := p.Decide(policy.Call{From: "alice", Method: "tools/call", Tool: "x"}, nil)
	want = &policy.Terms{Of: []string{"local", "bob"}, Need: 1, Within: 5 * time.Minute, Mode: "parallel", Priority: "normal", Remember: []string{"once"}}
	if !reflect.DeepEqual(byDefault.Ask, want) {
		t.Errorf("a caller among the approvers\ngot  %+v\nwant %+v", byDefault.Ask, want)
	}
	if again := p.Decide(policy.Call{From: "eve", Method: "tools/call", Tool: "x"}, nil); len(again.Ask.Of) != 3 {
		t.Errorf("a decision changed the policy: %v", again.Ask.Of)
	}
	builtin := policy.Default().Decide(call(`{}`), nil)
	if builtin.Verdict != policy.Ask || !slices.Equal(builtin.Ask.Of, []string{"local"}) || builtin.Ask.Need != 1 || builtin.Ask.Within != 5*time.Minute {
		t.Errorf("without a file: %+v", builtin.Ask)
	}
}

// What a question that takes a passkey has from another ask is no way around that: it remembers
// nothing, and is passed on to nobody.
func TestAnAskThatTakesAPasskeyInheritsNoWayAroundIt(t *testing.T) {
	p := load(t, `
default: deny
asks:
  default: {of: [local, ann], remember: [once, always], delegate: {to: bob}}
  signed: {extends: default, confirm: passkey}
rules:
- {ask: a, as: signed}
- {ask: b, as: {confirm: passkey}}
- {ask: c, as: signed}
- {ask: c}
- {ask: d}
`)
	for tool, passed := range map[string]bool{"a": false, "b": false, "c": false, "d": true} {
		ask := p.Decide(policy.Call{From: "eve", Method: "tools/call", Tool: tool}, nil).Ask
		if (ask.Delegate != nil) != passed || slices.Contains(ask.Remember, "always") != passed || (ask.Confirm == "") != passed {
			t.Errorf("%s: %+v", tool, ask)
		}
	}
}

// Asks take from each other what they leave out. One in place that does not say who is asked
// is the default, which somebody who wrote {remember: session} expected; one that does is not.
func TestAsksExtend(t *testing.T) {
	p := load(t, `
default: deny
approvers: {ops: [alice, bob, carol], one: dave}
asks:
  c: {extends: b, within: 1h}
  b: {extends: default, need: 2, mode: sequential, priority: low}
  default: {of: [ops, host], within: 90s, remember: [session, session, always], delegate: {to: dave}}
rules:
- {ask: a, as: c}
- {ask: b, as: {extends: c, of: one, need: 1}}
- {ask: c}
- {ask: d, as: {remember: once}}
- {ask: e, as: {of: one}}
`)
	terms := func(tool string) *policy.Terms {
		return p.Decide(policy.Call{From: "x", Method: "tools/call", Tool: tool}, nil).Ask
	}
	want := policy.Terms{Of: []string{"alice", "bob", "carol", "host"}, Need: 2, Within: time.Hour, Mode: "sequential", Priority: "low",
		Delegate: &policy.Delegate{To: []string{"dave"}, Depth: 1}, Remember: []string{"session", "always"}, Rules: []string{"ask a"}}
	if got := terms("a"); !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v", got)
	}
	want.Of, want.Need, want.Rules = []string{"dave"}, 1, []string{"ask b"}
	if got := terms("b"); !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v", got)
	}
	c, d := terms("c"), terms("d")
	if c.Within != 90*time.Second || c.Need != 1 {
		t.Errorf("got %+v", c)
	}
	c.Remember, c.Rules = []string{"once"}, d.Rules
	if !reflect.DeepEqual(d, c) {
		t.Errorf("got %+v, want %+v", d, c)
	}
	if got := terms("e"); got.Within != 5*time.Minute || got.Delegate != nil {
		t.Errorf("got %+v", got)
	}
}

// Several asks about one call become one that satisfies all of them.
func TestAsksMergeToTheStrictest(t *testing.T) {
	p := load(t, `
default: allow
asks:
  a: {of: [ann, bob, eve, local], need: 1, within: 10m, remember: [once, session], delegate: {to: [zoe, yan, xul], depth: 3},
      edit: {n: {arg: /n, min: 1, max: 9}, e: {arg: /e, enum: [x, y]}, f: {arg: /f}, only: {arg: /o}, clash: {arg: /c}, gone: {arg: /g, enum: [a]}}}
  b: {of: [eve, bob, ann], need: 2, within: 2m, mode: sequential, priority: high, remember: [once, always], delegate: {to: [xul, yan], depth: 1},
      edit: {n: {arg: /n, min: 2, max: 20}, e: {arg: /e, enum: [y, z]}, f: {arg: /f, enum: [p]}, clash: {arg: /d}, gone: {arg: /g, enum: [b]}}}
  c: {of: [dan], delegate: {to: zoe}}
rules:
- {ask: "*", name: one, as: a}
- {ask: "t*", name: two, as: b}
- {ask: "u*", name: three, as: c}
`)
	at := func(tool, from string) policy.Decision {
		return p.Decide(policy.Call{From: from, Method: "tools/call", Tool: tool}, nil)
	}
	got := at("t", "x")
	want := &policy.Terms{Of: []string{"ann", "bob", "eve"}, Need: 2, Within: 2 * time.Minute, Mode: "sequential", Priority: "high",
		Delegate: &policy.Delegate{To: []string{"yan", "xul"}, Depth: 1},
		Edit: []policy.Edit{
			{Field: "n", Arg: "/n", Title: "n", Type: "number", Min: "2", Max: "9"},
			{Field: "e", Arg: "/e", Title: "e", Type: "string", Enum: []string{`"y"`}},
			{Field: "f", Arg: "/f", Title: "f", Type: "string", Enum: []string{`"p"`}}},
		Remember: []string{"once"}, Rules: []string{"one", "two"}}
	if !reflect.DeepEqual(got.Ask, want) {
		t.Errorf("got  %+v\nwant %+v", got.Ask, want)
	}
	if !got.Ask.Answerable() || at("t", "bob").Ask.Need != 2 || !at("t", "bob").Ask.Answerable() {
		t.Error("two of three are left when one of them calls")
	}
	none := at("u", "x")
	if none.Verdict != policy.Ask || len(none.Ask.Of) != 0 || none.Ask.Answerable() || len(none.Ask.Delegate.To) != 1 || none.Ask.Edit != nil {
		t.Errorf("asks with nobody in common: %+v", none.Ask)
	}
	if d := at("x", "xul"); !slices.Equal(d.Ask.Delegate.To, []string{"zoe", "yan"}) {
		t.Errorf("the caller may be delegated to: %v", d.Ask.Delegate)
	}
	if d := at("u", "zoe"); d.Ask.Delegate != nil {
		t.Errorf("nobody is left to delegate to: %v", d.Ask.Delegate)
	}
}

func TestConditions(t *testing.T) {
	monday := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	base := policy.Call{From: "dev-agent", Via: "request", Method: "tools/call", Tool: "t", Now: monday}
	edit := func(f func(*policy.Call)) policy.Call {
		c := base
		f(&c)
		return c
	}
	proposal := edit(func(c *policy.Call) { c.Via = "proposal" })
	for _, c := range []struct {
		condition string
		call      policy.Call
		want      string
	}{
		{`from: dev-agent`, base, "yes"},
		{`from: ["x", "*-agent"]`, base, "yes"},
		{`from: ["DEV-*", "dev"]`, base, "no"},
		{`from: "*"`, edit(func(c *policy.Call) { c.From = "" }), "unclear"},
		{`from: x`, edit(func(c *policy.Call) { c.From = "a b" }), "unclear"},
		{`from: x`, edit(func(c *policy.Call) { c.From = "system:gateway" }), "unclear"},
		{`from: x`, edit(func(c *policy.Call) { c.From = strings.Repeat("x", 65) }), "unclear"},

		{`via: request`, base, "yes"},
		{`via: proposal`, base, "no"},
		{`via: [proposal, request]`, base, "yes"},
		{`via: request`, edit(func(c *policy.Call) { c.Via = "" }), "unclear"},

		{`methods: tools/call`, base, "yes"},
		{`methods: ["logging/*", "tools/*"]`, base, "yes"},
		{`methods: ["logging/*"]`, base, "no"},

		{`hours: "08:00-18:00 UTC"`, base, "yes"},
		{`hours: "mon 08:00-18:00 UTC"`, base, "yes"},
		{`hours: "Tue-Sun 08:00-18:00 UTC"`, base, "no"},
		{`hours: "sat-mon,wed 08:00-18:00 UTC"`, base, "yes"},
		{`hours: "08:00-12:00 UTC"`, base, "no"},
		{`hours: "12:00-12:01 UTC"`, base, "yes"},
		{`hours: "12:30-13:30 Europe/Berlin"`, base, "yes"},
		{`hours: "12:00-13:00 Europe/Berlin"`, base, "no"},
		{`hours: ["01:00-02:00 UTC", "11:00-24:00 UTC"]`, base, "yes"},
		{`hours: "22:00-12:30 UTC"`, base, "yes"},
		{`hours: "sun 22:00-12:30 UTC"`, base, "yes"},
		{`hours: "mon 22:00-12:30 UTC"`, base, "no"},
		{`hours: "mon 11:00-10:00 UTC"`, base, "yes"},
		{`hours: "22:00-11:00 UTC"`, base, "no"},
		{`hours: "08:00-18:00 UTC"`, edit(func(c *policy.Call) { c.Now = time.Time{} }), "unclear"},
		{`hours: "00:00-24:00 local"`, base, "yes"},

		{`until: 2026-03-02`, base, "yes"},
		{`until: 2026-03-01`, base, "no"},
		{`until: "2026-03-02T13:00:01+01:00"`, base, "yes"},
		{`until: "2026-03-02T13:00:00+01:00"`, base, "no"},
		{`until: 2026-03-02`, edit(func(c *policy.Call) { c.Now = time.Time{} }), "unclear"},

		{`except: {from: "*-agent"}`, base, "no"},
		{`except: {from: "bob"}`, base, "yes"},
		{`except: {tools: "t*"}`, base, "no"},
		{`except: {tools: "u*"}`, base, "yes"},
		{`except: {methods: "tools/*"}`, base, "no"},
		{`except: {via: proposal}`, base, "yes"},
		{`except: {via: proposal}`, proposal, "no"},
		{`except: [{via: proposal}, {from: dev-agent, args: {x: {is: 1}}}]`, base, "yes"},
		{`except: [{via: proposal}, {from: dev-agent}]`, base, "no"},
		{`except: {args: {x: {type: absent}}}`, base, "no"},
		{`except: {args: {x: {not: a}}}`, base, "no/yes"}, // absent: holds only where it tightens
		{`except: {args: {x: {max: 5}}}`, edit(func(c *policy.Call) { c.Args = []byte(`{"x":"5"}`) }), "no/unclear"},

		{`hints: {readOnly: false}`, base, "yes"},
		{`hints: {readOnly: true}`, base, "no"},
		{`hints: {destructive: true, openWorld: true, idempotent: false}`, base, "yes"},
		{`hints: {destructive: true, openWorld: false}`, base, "no"},
	} {
		t.Run(c.condition, func(t *testing.T) { expect(t, c.condition, c.call, c.want) })
	}
}

// Each time of a week at its edges: the last moment before, the first within, the last
// within and the first after (FINDINGS T3).
func TestHoursAtTheirEdges(t *testing.T) {
	for hours, moments := range map[string]map[string]string{ // 2026-03-01 was a Sunday
		"08:00-18:00 UTC":                  {"02 07:59:59": "no", "02 08:00:00": "yes", "02 17:59:59": "yes", "02 18:00:00": "no"},
		"00:00-24:00 UTC":                  {"01 23:59:59": "yes", "02 00:00:00": "yes", "02 23:59:59": "yes"},
		"mon 00:00-24:00 UTC":              {"01 23:59:59": "no", "02 00:00:00": "yes", "02 23:59:59": "yes", "03 00:00:00": "no"},
		"23:59-24:00 UTC":                  {"02 23:58:59": "no", "02 23:59:00": "yes", "02 23:59:59": "yes", "03 00:00:00": "no"},
		"sun 22:00-02:00 UTC":              {"01 01:59:59": "no", "01 21:59:59": "no", "01 22:00:00": "yes", "02 01:59:59": "yes", "02 02:00:00": "no", "02 22:00:00": "no"},
		"sat 22:00-02:00 UTC":              {"01 00:00:00": "yes", "01 01:59:59": "yes", "01 02:00:00": "no", "01 22:00:00": "no", "07 22:00:00": "yes"},
		"fri-mon 12:00-12:01 UTC":          {"05 12:00:00": "no", "06 12:00:00": "yes", "07 12:00:00": "yes", "01 12:00:00": "yes", "02 12:00:00": "yes", "03 12:00:00": "no"},
		"mon-mon 12:00-13:00 UTC":          {"01 12:00:00": "no", "02 12:00:00": "yes", "03 12:00:00": "no"},
		"SUN,tue 12:00-13:00 UTC":          {"01 12:00:00": "yes", "02 12:00:00": "no", "03 12:00:00": "yes", "04 12:00:00": "no"},
		"mon 00:00-01:00 Pacific/Auckland": {"01 10:59:59": "no", "01 11:00:00": "yes", "01 11:59:59": "yes", "01 12:00:00": "no"}, // 13 hours before UTC
	} {
		for moment, want := range moments {
			now, err := time.Parse("2006-01 02 15:04:05", "2026-03 "+moment)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(hours+" at "+moment, func(t *testing.T) {
				expect(t, "hours: '"+hours+"'", policy.Call{From: "a", Method: "tools/call", Tool: "t", Now: now}, want)
			})
		}
	}
}

// What a server says of its own tools changes nothing until it is trusted, and
// then what it leaves out is what MCP assumes.
func TestHints(t *testing.T) {
	yes, no := new(true), new(false)
	kind := policy.Hints{ReadOnly: yes, Destructive: no, Idempotent: yes, OpenWorld: no}
	for _, c := range []struct {
		hints     policy.Hints
		condition string
		trusted   bool
		want      string
	}{
		{kind, "hints: {readOnly: true}", false, "ask"},
		{kind, "hints: {readOnly: true}", true, "allow"},
		{kind, "hints: {destructive: false, idempotent: true, openWorld: false}", true, "allow"},
		{kind, "when: hints.readOnly", false, "ask"},
		{kind, "when: hints.readOnly", true, "allow"},
		{kind, "when: '!hints.destructive'", false, "ask"},
		{policy.Hints{}, "hints: {readOnly: true}", true, "ask"},
		{policy.Hints{}, "hints: {destructive: true, openWorld: true, idempotent: false}", true, "allow"},
		{policy.Hints{ReadOnly: yes}, "hints: {destructive: false}", true, "allow"},
		{policy.Hints{ReadOnly: yes, Destructive: yes}, "hints: {destructive: false}", true, "ask"},
	} {
		text := "default: ask\nrules:\n- {allow: t, " + c.condition + "}\n"
		if c.trusted {
			text += "server: {trust_hints: true}\n"
		}
		d := load(t, text).Decide(policy.Call{Method: "tools/call", Tool: "t", Hints: c.hints}, nil)
		if d.Verdict.String() != c.want {
			t.Errorf("%s with %+v, trusted %v: %s", c.condition, c.hints, c.trusted, d)
		}
	}
	// A server that calls itself harmless does not get out of a deny.
	p := load(t, "default: allow\nrules:\n- {deny: t, hints: {destructive: true}}\n")
	if d := p.Decide(policy.Call{Method: "tools/call", Tool: "t", Hints: kind}, nil); d.Verdict != policy.Deny {
		t.Errorf("%s", d)
	}
}

func TestMethods(t *testing.T) {
	p := load(t, `
default: deny
rules:
- {allow: "*"}
- {allow: "*", methods: [logging/setLevel]}
- {ask: "*", methods: ["prompts/*"], except: {tools: hello}}
- {deny: "*", methods: [resources/read], args: {uri: {glob: "file:///etc/**"}}}
- {deny: secret, methods: [tools/call, prompts/get]}
`)
	for _, c := range []struct{ method, tool, args, want string }{
		{"tools/call", "x", "", "allow"},
		{"tools/call", "secret", "", "deny"},
		{"tools/list", "", "", "allow"},
		{"resources/list", "", "", "allow"},
		{"resources/templates/list", "", "", "allow"},
		{"prompts/list", "", "", "ask"},
		{"ping", "", "", "allow"},
		{"initialize", "", "", "allow"},
		{"server/discover", "", "", "allow"},
		{"resources/read", "", `{"uri":"file:///srv/x"}`, "deny"},
		{"resources/read", "", `{"uri":"file:///srv/../etc/x"}`, "deny"},
		{"resources/read", "", `{"uri":5}`, "deny"},
		{"prompts/get", "other", "", "ask"},
		{"prompts/get", "hello", "", "deny"},
		{"resources/subscribe", "", "", "deny"},
		{"resources/unsubscribe", "", "", "deny"},
		{"completion/complete", "", "", "deny"},
		{"tasks/list", "", "", "deny"},
		{"tasks/get", "", "", "deny"},
		{"tasks/result", "", "", "deny"},
		{"prompts/get", "secret", "", "deny"},
		{"logging/setLevel", "", "", "allow"},
		{"tasks/cancel", "", "", "deny"},
		{"", "", "", "deny"},
	} {
		d := p.Decide(policy.Call{From: "x", Via: "request", Method: c.method, Tool: c.tool, Args: []byte(c.args)}, nil)
		if d.Verdict.String() != c.want {
			t.Errorf("%s %s %s: %s", c.method, c.tool, c.args, d)
		}
	}
}

// A proposal is put to somebody though the call is allowed, unless the file says
// that the rules alone decide.
func TestProposals(t *testing.T) {
	rules := "default: allow\nrules:\n- {allow: t, name: fine, say: hello}\n- {deny: u}\n- {ask: v, via: proposal}\n- {allow: v, via: request}\n"
	c := policy.Call{From: "x", Via: "proposal", Method: "tools/call", Tool: "t"}
	d := load(t, rules).Decide(c, nil)
	if d.Verdict != policy.Ask || d.Rule != "proposals.fulfil" || d.Say != "" || !slices.Equal(d.Ask.Of, []string{"local"}) || len(d.Reasons) != 5 {
		t.Errorf("%+v", d)
	}
	free := load(t, rules+"proposals: {fulfil: policy, broadcast: true, reject_untargeted: always}\n")
	if d := free.Decide(c, nil); d.Verdict != policy.Allow {
		t.Errorf("fulfil: policy: %s", d)
	}
	if free.Proposals != (policy.Proposals{Fulfil: "policy", Broadcast: true, RejectUntargeted: "always"}) {
		t.Errorf("%+v", free.Proposals)
	}
	c.Tool = "u"
	if d := load(t, rules).Decide(c, nil); d.Verdict != policy.Deny {
		t.Errorf("a proposal got past a deny: %s", d)
	}
	c.Tool = "v"
	if d := load(t, rules).Decide(c, nil); d.Rule != "ask v" {
		t.Errorf("%s", d)
	}
}

// A rule that is only unclear tightens what stands without it, and opens
// nothing: where all is denied by default, an ask that cannot be told is none.
func TestTheUnclearOpensNothing(t *testing.T) {
	for byDefault, want := range map[string]string{"allow": "ask (ask t, line 3)", "ask": "ask (ask t, line 3)", "deny": "deny (no rule matched)"} {
		p := load(t, "default: "+byDefault+"\nrules:\n- {ask: t, args: {x: {max: 5}}}\n- {allow: u}\n")
		if d := p.Decide(call(`{"x":"5"}`), nil); d.String() != want || len(d.Reasons) != 2 {
			t.Errorf("%s: %s", byDefault, policy.Explain(d, ""))
		}
	}
	excepted := load(t, "default: deny\nrules:\n- {ask: t, except: {args: {x: {max: 5}}}}\n")
	if d := excepted.Decide(call(`{"x":"5"}`), nil); d.Verdict != policy.Deny {
		t.Errorf("an except that cannot be told: %s", policy.Explain(d, ""))
	}
	beside := load(t, "default: deny\nrules:\n- {ask: t, args: {x: {max: 5}}}\n- {allow: '*'}\n")
	if d := beside.Decide(call(`{"x":"5"}`), nil); d.String() != "ask (ask t, line 3)" {
		t.Errorf("beside an allow that is certain: %s", d)
	}
}

// Only the deciding rules are named, and the first of them speaks.
func TestWhoDecides(t *testing.T) {
	p := load(t, `
default: ask
rules:
- {allow: t, say: never heard}
- {deny: t}
- {deny: "*", say: no way}
- {deny: "t*", say: not this either}
`)
	d := p.Decide(call(`{}`), nil)
	if d.Rule != "deny t" || d.Line != 5 || d.Say != "no way" || len(d.Reasons) != 4 || d.Ask != nil || d.Limits != nil {
		t.Errorf("%+v", d)
	}
	if d.String() != "deny (deny t, line 5)" {
		t.Errorf("%s", d)
	}
}

// Rules without a name get one that says what they are; a second of the same
// kind is told apart by a number.
func TestRuleNames(t *testing.T) {
	p := load(t, "default: ask\nrules:\n- {allow: [a, b]}\n- {allow: [a, b], from: x}\n")
	d := p.Decide(policy.Call{Tool: "a"}, nil)
	if d.Reasons[0].Rule != "allow a, b" || d.Reasons[1].Rule != "allow a, b (2)" {
		t.Errorf("%+v", d.Reasons)
	}
}

func TestGroupsInFrom(t *testing.T) {
	p := load(t, "default: deny\napprovers: {ops: [alice, bob]}\nrules:\n- {allow: t, from: [ops, 'ci-*']}\n")
	for id, want := range map[string]policy.Verdict{"alice": policy.Allow, "ci-1": policy.Allow, "ops": policy.Deny, "eve": policy.Deny} {
		if d := p.Decide(policy.Call{From: id, Method: "tools/call", Tool: "t"}, nil); d.Verdict != want {
			t.Errorf("%s: %s\n%s", id, d, policy.Explain(d, ""))
		}
	}
}
