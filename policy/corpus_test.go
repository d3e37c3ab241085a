package policy_test

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// The cases of the collection of bad inputs that concern the file, said in its
// present form; what is to come out of them is as it was.
func TestCorpus(t *testing.T) {
	// exit: the file is refused, with where and what.
	for _, c := range []struct{ id, text, say string }{
		{"pol-001 empty file", "", "the file is empty"},
		{"pol-002 no default", `{}`, "default is missing"},
		{"pol-003 misspelt default", `{"default":"alow"}`, "p.yaml:1:12: default is one of allow, ask, deny"},
		{"pol-004 misspelt rules", `{"default":"deny","rulez":[]}`, "did you mean rules?"},
		{"pol-005 nobody to ask", `{"default":"ask","asks":{"default":{"of":[]}}}`, "an empty list"},
		{"pol-005 empty group", `{"default":"ask","approvers":{"ops":[]},"asks":{"default":{"of":["ops"]}}}`, "an empty list"},
		{"pol-005 as written", `{"default":"ask","approvers":[]}`, "approvers is a mapping"},
		{"pol-006 everybody may approve", `{"default":"ask","asks":{"default":{"of":["*"]}}}`, "is a pattern"},
		{"pol-006 a group of everybody", `{"default":"ask","approvers":{"ops":["*"]}}`, "is a pattern"},
		{"pol-009 broken tool pattern", `{"default":"deny","rules":[{"allow":["re:("]}]}`, "p.yaml:1:38: allow: \"re:(\""},
		{"pol-009 broken expression", `{"default":"deny","rules":[{"allow":["x"],"args":{"p":{"regex":"("}}}]}`, "error parsing regexp"},
		{"pol-009 broken CEL", `{"default":"deny","rules":[{"allow":["x"],"when":"("}]}`, "when: Syntax error"},
		{"pol-014 no time to answer", `{"default":"ask","asks":{"default":{"within":"0"}}}`, "nobody could answer in time"},
		{"pol-016 a way to fail open", `{"default":"ask","asks":{"default":{"on_timeout":"allow"}}}`, `has no key "on_timeout"`},
		{"pol-016 as written", `{"default":"ask","on_timeout":"allow"}`, `has no key "on_timeout"`},
		{"pol-020 half a file", `{"default":`, "this is no YAML"},
	} {
		t.Run(c.id, func(t *testing.T) {
			p, err := policy.Load("p.yaml", []byte(c.text))
			if err == nil || p != nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("%v", err)
			}
		})
	}

	decide := func(text, from, tool, args string) policy.Decision {
		return load(t, text).Decide(policy.Call{From: from, Via: "request", Method: "tools/call", Tool: tool, Args: []byte(args)}, nil)
	}
	t.Run("pol-010 patterns are anchored", func(t *testing.T) {
		for _, text := range []string{
			`{"default":"deny","rules":[{"allow":["read"]}]}`,
			`{"default":"deny","rules":[{"allow":["*"],"when":"tool.matches('^read$')"}]}`,
		} {
			if d := decide(text, "x", "thread_delete", ""); d.Verdict != policy.Deny {
				t.Errorf("%s", d)
			}
		}
		if d := decide(`{"default":"deny","rules":[{"allow":["*"],"args":{"a":{"regex":"read"}}}]}`, "x", "t", `{"a":"thread_delete"}`); d.Verdict != policy.Deny {
			t.Errorf("%s", d)
		}
	})
	t.Run("pol-011 deny wins in any order", func(t *testing.T) {
		for _, text := range []string{
			`{"default":"deny","rules":[{"allow":["read_*"]},{"deny":["read_secret"]}]}`,
			`{"default":"deny","rules":[{"deny":["read_secret"]},{"allow":["read_*"]}]}`,
		} {
			if d := decide(text, "x", "read_secret", ""); d.Verdict != policy.Deny || d.Rule != "deny read_secret" {
				t.Errorf("%s", d)
			}
		}
	})
	t.Run("pol-012 a prefix is no directory", func(t *testing.T) {
		for _, test := range []string{"under: /home/u/safe", "glob: /home/u/safe/**"} {
			text := "default: ask\nasks: {default: {of: [alice]}}\nrules:\n- {allow: [write_file], args: {path: {" + test + "}}}\n"
			for path, want := range map[string]policy.Verdict{
				"/home/u/safe/a": policy.Allow, "/home/u/safe-evil/a": policy.Ask, "/home/u/safe/../x": policy.Ask, "/home/u/safe/../../../etc/passwd": policy.Ask,
			} {
				if d := decide(text, "x", "write_file", `{"path":"`+path+`"}`); d.Verdict != want {
					t.Errorf("%s %s: %s", test, path, d)
				}
			}
		}
		p := load(t, arg(`path: {regex: "/home/u/safe.*"}`))
		if w := p.Warnings(nil); len(w) != 1 || !strings.Contains(w[0], "looks like a path prefix") {
			t.Errorf("%q", w)
		}
	})
	t.Run("pol-018 the caller is the only approver", func(t *testing.T) {
		text := `{"default":"ask","asks":{"default":{"of":["agent-a"]}},"rules":[{"from":"agent-a","ask":"*"}]}`
		if w := load(t, text).Warnings(nil); len(w) != 1 || !strings.Contains(w[0], "nobody could agree") {
			t.Errorf("%q", w)
		}
		if d := decide(text, "agent-a", "x", ""); d.Verdict != policy.Ask || d.Ask.Answerable() {
			t.Errorf("%s: %+v", d, d.Ask)
		}
	})
	t.Run("ui-013 a server calls itself harmless", func(t *testing.T) {
		harmless := policy.Call{Method: "tools/call", Tool: "read_file", Hints: policy.Hints{ReadOnly: new(true)}}
		for text, want := range map[string]policy.Verdict{
			"default: ask\nrules: [{allow: '*', hints: {readOnly: true}}]":                                policy.Ask,
			"default: ask\nrules: [{allow: '*', hints: {readOnly: true}}]\nserver: {trust_hints: true}\n": policy.Allow,
		} {
			if d := load(t, text).Decide(harmless, nil); d.Verdict != want {
				t.Errorf("%s: %s", text, d)
			}
		}
	})
}
