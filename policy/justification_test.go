package policy_test

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A call that does not say why is refused where any rule that takes part wants to know, whatever
// the others say.
func TestACallThatDoesNotSayWhyIsRefused(t *testing.T) {
	p := load(t, "version: 1\ndefault: deny\nrules:\n"+
		" - {name: deploys, ask: [deploy], justification: required}\n"+
		" - {name: reads, allow: ['read_*']}\n"+
		" - {name: keys, allow: [read_key], justification: required, limit: {count: 2/day}}\n"+
		" - {name: never, deny: [drop], say: No.}\n - {ask: [drop], justification: required}\n")
	for _, c := range []struct {
		tool, why string
		want      policy.Verdict
		by        string
	}{
		{"deploy", "", policy.Deny, "deploys"},
		{"deploy", "the site is down", policy.Ask, ""},
		{"read_file", "", policy.Allow, ""},
		{"read_key", "", policy.Deny, "keys"},
		{"read_key", "to sign", policy.Allow, ""},
		{"drop", "", policy.Deny, ""},
	} {
		d := p.Decide(policy.Call{From: "bob", Via: "request", Method: "tools/call", Tool: c.tool, Why: c.why}, nil)
		if d.Verdict != c.want || d.Unexplained != c.by || d.Verdict == policy.Deny && d.Limits != nil {
			t.Errorf("%s because %q: %s, unexplained %q, takes %v", c.tool, c.why, d, d.Unexplained, d.Limits)
		}
	}
	if d := p.Decide(policy.Call{From: "bob", Via: "request", Method: "tools/call", Tool: "deploy"}, nil); !strings.Contains(policy.Explain(d, ""), "the call does not say why (justification: required)") {
		t.Error(policy.Explain(d, ""))
	}
}

func TestWhoNeedNotSayWhyAnyMoreIsAskedAbout(t *testing.T) {
	const head = "version: 1\ndefault: ask\nrules:\n - {name: r, "
	for _, rule := range []string{"ask: [deploy]", "allow: [deploy]", "allow: [deploy], except: {from: mallory}"} {
		free, bound := load(t, head+rule+"}\n"), load(t, head+rule+", justification: required}\n")
		if got := policy.Looser(bound, free); len(got) == 0 {
			t.Errorf("%s: nobody is asked when it needs no reason any more", rule)
		}
		if got := policy.Looser(free, bound); len(got) > 0 {
			t.Errorf("%s: to want a reason is looser: %q", rule, got)
		}
		if got := policy.Looser(bound, bound); len(got) > 0 {
			t.Errorf("%s: it is looser than itself: %q", rule, got)
		}
	}
	gone := load(t, "version: 1\ndefault: allow\n")
	if got := policy.Looser(load(t, "version: 1\ndefault: allow\nrules:\n - {name: r, allow: [deploy], justification: required}\n"), gone); len(got) != 1 {
		t.Errorf("a rule that wants a reason goes unnoticed: %q", got)
	}
	denied := load(t, "version: 1\ndefault: ask\nrules:\n - {deny: [deploy]}\n")
	if got := policy.Looser(load(t, head+"ask: [deploy], justification: required}\n"), denied); len(got) > 0 {
		t.Errorf("to deny is looser: %q", got)
	}
}

func TestAJustificationIsRequiredOrNothingIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"ask: [x], justification: optional":  "justification is required, not \"optional\"",
		"deny: [x], justification: required": "a deny has no use for a justification",
	} {
		_, err := policy.Load("p", []byte("version: 1\ndefault: deny\nrules:\n - {"+text+"}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
