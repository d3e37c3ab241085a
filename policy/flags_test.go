package policy_test

import (
	"slices"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What flags stand for, alone and beside a file.
func TestFlags(t *testing.T) {
	f, err := policy.Flags([]string{"read_*", "delete_one"}, []string{"delete_*"})
	if err != nil {
		t.Fatal(err)
	}
	at := func(p *policy.Policy, tool string) string {
		return p.Decide(policy.Call{From: "x", Via: "request", Method: "tools/call", Tool: tool}, nil).String()
	}
	for tool, want := range map[string]string{
		"read_file":  "allow (--allow read_*)",
		"delete_one": "deny (--deny delete_*)",
		"write":      "ask (no rule matched)",
	} {
		if got := at(f, tool); got != want {
			t.Errorf("%s: %s", tool, got)
		}
	}
	both := load(t, "default: deny").With(f)
	if at(both, "read_file") != "allow (--allow read_*)" || at(both, "write") != "deny (no rule matched)" {
		t.Errorf("beside a closed list: %s, %s", at(both, "read_file"), at(both, "write"))
	}
	file := load(t, "default: ask\nasks: {default: {of: [ann]}}\nrules:\n- {deny: read_secret, name: '--allow read_*'}\n- {ask: asked}\ntests:\n- {call: {tool: x}, want: ask}\n")
	both = file.With(f).With(file)
	if got := at(both, "read_secret"); got != "deny (--allow read_*, line 4)" {
		t.Errorf("%s", got)
	}
	if got := at(both, "read_x"); got != "allow (--allow read_* (2))" {
		t.Errorf("%s", got)
	}
	if got := both.Decide(policy.Call{Method: "tools/call", Tool: "asked"}, nil); !slices.Equal(got.Ask.Of, []string{"ann"}) || len(both.Test()) != 2 {
		t.Errorf("%+v", got.Ask)
	}
	if at(file, "read_x") != "ask (no rule matched)" {
		t.Error("With changed the policy it was called on")
	}
	for _, bad := range []string{"", "a b", "[x]", "re:x"} {
		if _, err := policy.Flags(nil, []string{bad}); err == nil {
			t.Errorf("--deny %q passed", bad)
		}
	}
}

// The hash tells any two policies apart and is the same for the same text.
func TestHash(t *testing.T) {
	f, _ := policy.Flags([]string{"a"}, nil)
	g, _ := policy.Flags(nil, []string{"a"})
	a, b := load(t, "default: deny"), load(t, "default: deny\n")
	seen := map[string]int{}
	for i, p := range []*policy.Policy{a, b, f, g, policy.Default(), a.With(f), f.With(a), a.With(g), {}} {
		if j, ok := seen[p.Hash()]; ok || len(p.Hash()) != 64 {
			t.Errorf("%d hashes like %d: %s", i, j, p.Hash())
		}
		seen[p.Hash()] = i
	}
	if a.Hash() != load(t, "default: deny").Hash() {
		t.Error("the same text hashes differently")
	}
}

func TestZeroAndNil(t *testing.T) {
	var none *policy.Policy
	for _, p := range []*policy.Policy{none, {}} {
		if d := p.Decide(call(`{}`), nil); d.Verdict != policy.Deny {
			t.Errorf("%s", d)
		}
	}
	if d := (&policy.Policy{Default: policy.Ask}).Decide(call(`{}`), nil); !slices.Equal(d.Ask.Of, []string{"local"}) {
		t.Errorf("%+v", d.Ask)
	}
}

func TestVerdictWords(t *testing.T) {
	for _, v := range []policy.Verdict{policy.Deny, policy.Ask, policy.Allow} {
		if text, err := v.MarshalText(); err != nil || string(text) != []string{"deny", "ask", "allow"}[v] || v.String() != string(text) {
			t.Errorf("%s: %s, %v", v, text, err)
		}
	}
	if policy.Verdict(9).String() != "deny" {
		t.Error("an unknown verdict is not a denial")
	}
}
