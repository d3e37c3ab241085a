package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func TestANewRuleChoseWhoIsAsked(t *testing.T) {
	const before = "default: ask\napprovers: {ops: [ann, bob]}\nasks: {default: {of: ops, need: 2, within: 5m}, own: {of: [eve], within: 5m}}\nproposals: {fulfil: never}\n"
	got := policy.Looser(load(t, before), load(t, before+"rules:\n- {name: mine, ask: [delete], as: own}"))
	if !strings.Contains(strings.Join(got, "\n"), "rule mine") {
		t.Errorf("eve alone may agree to delete now, and what is looser is %q", got)
	}
	if got := policy.Looser(load(t, before), load(t, before+"rules:\n- {ask: [delete]}")); len(got) > 0 {
		t.Errorf("a rule that asks as the default does is looser: %q", got)
	}
}

func TestWhoIsAskedAboutAChangedToolIsNobodysOwnChoice(t *testing.T) {
	const before = "default: deny\nasks: {default: {of: [ann, bob], need: 2, within: 5m}, own: {of: [ann], within: 5m}}\nproposals: {fulfil: never}\nrules: [{allow: [read], limit: {count: 1/day, over: ask}, as: own}]\n"
	got := policy.Looser(load(t, before), load(t, strings.Replace(before, "[ann, bob], need: 2", "[eve], need: 1", 1)))
	if !strings.Contains(strings.Join(got, "\n"), "the default asks more people: eve") {
		t.Errorf("server.pin and what stands beside the arguments ask eve now, and what is looser is %q", got)
	}
}

func TestAnArgumentOfAnotherTypeChoseWhoIsAsked(t *testing.T) {
	p := load(t, "default: ask\nasks: {default: {of: [ann, bob], need: 2, within: 5m}, own: {of: [ann, eve], within: 9m}}\nrules:\n- {name: scratch, ask: [write], args: {path: {under: /tmp}}, as: own}\n")
	d := p.Decide(policy.Call{From: "x", Method: "tools/call", Tool: "write", Args: []byte(`{"path":7}`), Now: time.Unix(0, 0)}, nil)
	if d.Verdict != policy.Ask || d.Ask.Need != 2 || strings.Join(d.Ask.Of, " ") != "ann" || d.Ask.Within != 5*time.Minute {
		t.Errorf("%s %+v", d, d.Ask)
	}
	if d.Ask.Answerable() {
		t.Error("one is enough")
	}
}

// Names that an expression goes through were compared as they are spelled.
func TestAKeyThatIsGoneThroughIsKnownInAnotherCase(t *testing.T) {
	for _, when := range []string{`args.exists(k, k == "secret")`, `args.exists(k, k in ["other", "secret"])`, `has(args.opts) && args.opts.exists(k, k == "secret")`} {
		p := load(t, "default: allow\nrules:\n- {name: never, deny: [x], when: '"+when+"'}\n")
		for _, args := range []string{`{"SECRET":1,"opts":{"\u017fecret":1}}`, `{"secret":1,"opts":{"secret":1}}`} {
			d := p.Decide(policy.Call{From: "x", Via: "request", Method: "tools/call", Tool: "x", Args: []byte(args), Now: time.Unix(0, 0)}, nil)
			if d.Verdict != policy.Deny {
				t.Errorf("%s of %s: %s", when, args, d)
			}
		}
		d := p.Decide(policy.Call{From: "x", Via: "request", Method: "tools/call", Tool: "x", Args: []byte(`{"plain":1,"opts":{"a":1}}`), Now: time.Unix(0, 0)}, nil)
		if d.Verdict != policy.Allow {
			t.Errorf("%s: %s", when, d)
		}
	}
}
