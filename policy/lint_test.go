package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A deny by path missed the tools that call it paths or source, and nothing said so.
func TestADenyMissedToolsThatCallTheArgumentSomethingElse(t *testing.T) {
	schema := func(names string) []byte {
		return []byte(`{"type":"object","properties":{` + names + `}}`)
	}
	tools := []policy.Tool{
		{Name: "read_file", InputSchema: schema(`"path":{"type":"string"}`)},
		{Name: "move_file", InputSchema: schema(`"source":{"type":"string"},"destination":{"type":"string"}`)},
		{Name: "read_multiple_files", InputSchema: schema(`"paths":{"type":"array","items":{"type":"string"}},"head":{"type":"number"}`)},
		{Name: "wait", InputSchema: schema(`"seconds":{"type":"integer"}`)},
		{Name: "list_roots", InputSchema: schema(``)},
	}
	for _, c := range []struct{ rules, want string }{
		{`- {name: n, deny: ["*"], args: {path: {glob: "**/.env"}}}`,
			`n (line 3) denies by args.path; move_file (source, destination) and read_multiple_files (paths) have no such argument, so it never denies them; ` +
				`move_file and read_multiple_files are asked about by default. args: {"**": …} tests every string of the arguments`},
		{"- {name: n, deny: ['*'], args: {path: {glob: '**/.env'}}}\n- {name: m, allow: [move_file]}\n- {deny: [read_multiple_files], args: {/paths/*: {glob: '**/.env'}}}",
			"denies by args.path; move_file (source, destination) has no such argument, so it never denies it; move_file is allowed by rule m (line 4)."},
		{"- {name: n, deny: ['*'], args: {path: {glob: '**/.env'}}}\n- {name: m, allow: [move_file], from: ann}\n- {name: reads, allow: ['read_*']}",
			"read_multiple_files is allowed by rule reads (line 5); move_file is asked about by default, or allowed in the cases of rule m (line 4)."},
		{`- {name: n, deny: ["*"], args: {"**": {glob: "**/.env"}}}`, ""},
		{`- {name: n, deny: ["*"], args: {path: {not: x}}}`, ""},
		{`- {name: n, deny: [read_file, wait], args: {path: {glob: "**/.env"}}}`, ""},
		{"- {name: n, deny: ['*'], args: {path: {glob: '**/.env'}}}\n- {deny: [move_file, read_multiple_files]}", ""},
	} {
		unreached, _ := load(t, "default: ask\nrules:\n"+c.rules).Doubts(tools)
		got := strings.Join(unreached, "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot  %q\nwant %q", c.rules, got, c.want)
		}
	}
}

// An approver was offered to change an argument that the tool does not have, and nothing
// said so.
func TestAnEditOfAnArgumentThatToolsDoNotHave(t *testing.T) {
	schema := func(names string) []byte { return []byte(`{"type":"object","properties":{` + names + `}}`) }
	tools := []policy.Tool{
		{Name: "write_file", InputSchema: schema(`"path":{}`)},
		{Name: "move_file", InputSchema: schema(`"source":{},"destination":{}`)},
		{Name: "list_roots", InputSchema: schema(``)},
		{Name: "bare"},
	}
	const path = "asks: {default: {of: [ann], edit: {to: {arg: /path}, t: {arg: '@timeout'}}}, other: {of: [ann], edit: {to: {arg: /source/x}}}}\nrules:\n"
	for _, c := range []struct{ text, want string }{
		{"default: ask\n" + path + "- {deny: list_roots}\n- {allow: bare}", "the default ask lets args/path be changed, which move_file does not have"},
		{"default: ask\n" + path + "- {allow: x, from: ann}", "the default ask lets args/path be changed, which list_roots and move_file do not have"},
		{"default: deny\n" + path + "- {ask: 'move_*'}", "the default ask lets args/path be changed, which move_file does not have"},
		{"default: deny\n" + path + "- {allow: '*_file', as: other, limit: {count: 1/day, over: ask}}", "rule allow *_file (line 4) lets args/source/x be changed, which write_file does not have"},
		{"default: deny\n" + path + "- {ask: 'move_*', as: other}", ""},
		{"default: deny\n" + path + "- {ask: 'write_*'}", ""},
		{"default: ask\n" + path + "- {ask: '*_*', as: other, except: {from: ann}}", "which list_roots and write_file do not have"},
	} {
		got := strings.Join(load(t, c.text).Warnings(tools), "\n")
		if c.want == "" && strings.Contains(got, "be changed") || !strings.Contains(got+"\n", c.want+"\n") {
			t.Errorf("%s\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	tools := []policy.Tool{
		{Name: "read_file", InputSchema: []byte(`{"type":"object","properties":{"path":{}}}`)},
		{Name: "write_file", InputSchema: []byte(`{"type":"object"}`)},
		{Name: "odd", InputSchema: []byte(`true`)},
		{Name: "bare"},
	}
	for _, c := range []struct {
		text string
		want string // "" for none
	}{
		{"default: ask\nrules:\n- {allow: 'read_*', args: {path: {under: /a}}}", ""},
		{"default: ask\nrules:\n- {allow: 'raed_*'}", "rule allow raed_* (line 3) fits none of the server's tools"},
		{"default: ask\nrules:\n- {allow: '*', methods: 'logging/*', args: {x: {is: 1}}}", ""},
		{"default: ask\nrules:\n- {allow: read_file, args: {pth: {under: /a}}}", "rule allow read_file (line 3) tests args.pth, which none of the tools it fits has"},
		{"default: ask\nrules:\n- {allow: read_file, except: {args: {/pth/x: {under: /a}}}}", "tests args/pth/x, which"},
		{"default: ask\nrules:\n- {allow: read_file, limit: {sum: {arg: /n, max: 1, window: day}}}", "tests args/n, which"},
		{"default: ask\nrules:\n- {allow: 'read_file', args: {/*: {maxlen: 5}}}", ""},
		{"default: ask\nrules:\n- {allow: '*_file', args: {pth: {under: /a}}}", ""},
		{"default: ask\nrules:\n- {allow: odd, args: {pth: {under: /a}}}\n- {allow: bare, args: {x: {is: 1}}}", ""},
		{"default: ask\nrules:\n- {allow: read_file, args: {a.b: {is: 1}}}", `line 3: "a.b" is read as the name of one argument; what is nested is written /a/b`},

		{"default: ask\nrules:\n- {deny: 'read_*'}\n- {allow: read_file}", "rule allow read_file (line 4) has no effect: rule deny read_* (line 3) always overrules it"},
		{"default: ask\nrules:\n- {allow: [read_file, write_file]}\n- {ask: '*_file', name: files}", "has no effect: rule files (line 4) always overrules it"},
		{"default: ask\nrules:\n- {ask: 'read_*'}\n- {deny: '*'}", "rule ask read_* (line 3) has no effect: rule deny * (line 4) always overrules it"},
		{"default: ask\nrules:\n- {deny: 'read_*', from: x}\n- {allow: read_file}", ""},
		{"default: ask\nrules:\n- {deny: 'read_?'}\n- {allow: 'read_*'}", "fits none"},
		{"default: ask\nrules:\n- {deny: read_file}\n- {allow: 'read_*'}", ""},
		{"default: ask\nrules:\n- {allow: read_file}\n- {deny: read_file, from: x}", ""},
		{"default: allow\nrules:\n- {allow: read_file}", "has no effect: the default is to allow"},
		{"default: allow\nrules:\n- {allow: read_file, limit: {count: 1/day}}", ""},
		{"default: ask\nredact: ['*amount*']\nrules:\n- {allow: odd, limit: {sum: {arg: /amount, max: 1, window: day}}}", "rule allow odd (line 4) sums args/amount, which redact keeps off the record"},

		{"default: ask\nrules:\n- {ask: read_file, say: Two have to agree.}", "rule ask read_file (line 3) never denies a call, so nobody is told what it says: say is for callers whom the rule denies"},
		{"default: ask\nrules:\n- {allow: read_file, limit: {count: 1/day, over: ask}, say: No.}", "never denies a call"},
		{"default: ask\nrules:\n- {allow: read_file, limit: {count: 1/day}, say: Tomorrow.}\n- {deny: write_file, say: No.}", ""},

		{"default: ask\nasks: {default: {of: agent-a}}\nrules:\n- {ask: read_file, from: agent-a}", "rule ask read_file (line 4) asks when agent-a calls, and then nobody could agree: a caller never decides on its own call"},
		{"default: ask\napprovers: {ops: [a1, b1]}\nasks: {two: {of: ops, need: 2}}\nrules:\n- {ask: read_file, from: [ops, 'x*'], as: two}", "asks when b1 calls, and then nobody"},
		{"default: ask\nasks: {default: {of: [agent-a, bob]}}\nrules:\n- {ask: read_file, from: agent-a}", ""},
		{"default: ask\nasks: {default: {of: agent-a}}\nrules:\n- {ask: read_file}", ""},
		{"default: ask\nasks: {x: {of: ann}, y: {of: bob}}\nrules:\n- {ask: read_file, as: x}\n- {ask: '*_file', as: y}", "rule ask read_file (line 4) and rule ask *_file (line 5) can ask about one call, and then nobody could agree"},
		{"default: ask\nasks: {x: {of: ann}, y: {of: bob}}\nrules:\n- {ask: read_file, as: x}\n- {ask: write_file, as: y}\n- {allow: bare}", ""},

		{"default: ask\nrules:\n- {allow: read_file, hints: {readOnly: true}}", "rule allow read_file (line 3) looks at hints, but the server's own hints are not trusted"},
		{"default: ask\nrules:\n- {allow: read_file, except: {hints: {readOnly: false}}}", "looks at hints"},
		{"default: ask\nserver: {trust_hints: true}\nrules:\n- {allow: read_file, hints: {readOnly: true}}", ""},

		{"default: ask\nrules:\n- {allow: read_file, args: {path: {regex: '/home/u/safe.*'}}}", `line 3: args.path regex: "/home/u/safe.*" looks like a path prefix, which lets /dir-evil and /dir/../x through; under compares paths`},
		{"default: ask\nrules:\n- {deny: read_file, args: {path: {regex: secret}}}", `"secret" has to fit the whole value, so it fits only itself; write .*secret.* for a value that contains it`},
		{"default: ask\napprovers: {ops: [a1, opsy], db: [a1]}\nrules:\n- {allow: read_file, from: [a1, opz]}", `line 4: from: "opz" is no group, and is taken for a participant's id; did you mean ops?`},
		{"default: ask\napprovers: {ops: [a1, opsy], db: [a1]}\nrules:\n- {allow: read_file, except: {from: Ops}}", "did you mean ops?"},
		{"default: ask\napprovers: {ops: [a1, opsy], db: [a1]}\nrules:\n- {allow: read_file, from: [ops, opsy, dc, 'op*', a2, locl]}", ""},
		{"default: ask\nrules:\n- {deny: ['secret_*'], methods: [resources/read, prompts/get]}", `line 3: a rule about secret_* never applies to resources/read: what is no tool or prompt has no name, and only * fits that`},
		{"default: ask\nrules:\n- {deny: ['secret_*', '?*'], methods: 'tasks/*'}", `never applies to tasks/*: what`},
		{"default: ask\nrules:\n- {deny: ['secret_*'], methods: ['*/call', 'prompts/*', 'x/*', prompts/get]}", `never applies to x/*: what`},
		{"default: ask\nrules:\n- {deny: ['secret_*', '*'], methods: [resources/read, mcpx/plan]}\n- {deny: ['secret_*'], methods: ['*', tools/call, prompts/get]}", ""},
		{"default: ask\nrules:\n- {deny: '*', methods: [resource/read]}", `line 3: methods: "resource/read" is no method of MCP; did you mean resources/read?`},
		{"default: ask\nrules:\n- {deny: 'read_*', methods: [tool/call]}", `line 3: methods: "tool/call" is no method of MCP; did you mean tools/call?`},
		{"default: ask\nrules:\n- {deny: '*', methods: '*', except: {methods: Prompts/Get}}", `did you mean prompts/get?`},
		{"default: ask\nrules:\n- {deny: '*', methods: ['resource/*', 'vendor.example/read', logging/setLevel, server/discover, subscriptions/listen]}", ""},

		{"default: ask\nrules:\n- {allow: read_file, args: {path: {under: 'https://a.example/docs'}}}", `line 3: args.path under: "https://a.example/docs" is compared as paths are, letter by letter; host compares hosts, however they are written`},
		{"default: ask\nrules:\n- {deny: read_file, args: {path: {glob: ['HTTP://a.example/**']}}}", `line 3: args.path glob: "HTTP://a.example/**" is compared as paths are`},
		{"default: ask\nrules:\n- {deny: read_file, args: {path: {glob: ['file:///etc/**', 'note://*/a']}}}", ""},
		{"default: ask\nrules:\n- {allow: read_file, when: 'args.path.startsWith(\"/srv\")'}", "line 3: when: startsWith is no way to compare paths"},
	} {
		got := strings.Join(load(t, c.text).Warnings(tools), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
	if w := load(t, "default: ask\nrules:\n- {allow: x, args: {y: {is: 1}}}").Warnings(nil); w != nil {
		t.Errorf("without tools: %q", w)
	}
}

// A question to a group reaches participants as one to an id does.
func TestParticipantsOfGroups(t *testing.T) {
	for text, want := range map[string][]string{
		"asks: {default: {of: [ops, local]}}":                                  {"alice", "bob"},
		"asks: {default: {of: [local]}}":                                       nil,
		"asks: {default: {of: local, delegate: {to: [ops, carol]}}}":           {"alice", "bob", "carol"},
		"rules: [{ask: [x], as: {of: [ops, alice]}}]":                          {"alice", "bob"},
		"rules: [{ask: [x], as: {of: [me]}}]":                                  nil,
		"rules: [{allow: [x], from: [ops]}]\nasks: {default: {of: [local]}}\n": nil,
	} {
		p := load(t, "default: ask\napprovers: {ops: [bob, alice, local], me: [local]}\n"+text)
		if got := p.Participants(); !slices.Equal(got, want) || p.AsksOthers() != (want != nil) {
			t.Errorf("%s: %q, others %v", text, got, p.AsksOthers())
		}
		if got := p.Delegates(); slices.Contains(got, "carol") != strings.Contains(text, "carol") || slices.Contains(got, "bob") != strings.Contains(text, "to: [ops") {
			t.Errorf("%s: passed on to %q alone", text, got)
		}
		if got := slices.Sorted(slices.Values(append(p.Asked(), p.Delegates()...))); !slices.Equal(got, want) {
			t.Errorf("%s: asked or passed on to %q", text, got)
		}
	}
}

func TestDeciders(t *testing.T) {
	const asks = "asks: {default: {of: [zoe, local], delegate: {to: [host, yan]}}, other: {of: [ann]}}\n"
	for text, want := range map[string][]string{
		"default: ask\n": nil,
		"default: deny\nproposals: {fulfil: policy}\n":                                                                  {},
		"default: deny\nproposals: {fulfil: ask}\n":                                                                     nil,
		"default: allow\nrules: [{ask: x, as: other}]\n":                                                                {"local", "host", "ann", "yan", "zoe"},
		"default: deny\nproposals: {fulfil: never}\nrules: [{ask: x, as: other}]\n":                                     {"ann"},
		"default: deny\nproposals: {fulfil: never}\nrules: [{allow: x, limit: {count: 1/day, over: ask}, as: other}]\n": {"ann"},
		"default: deny\nproposals: {fulfil: never}\nrules: [{allow: x, limit: {count: 1/day, over: deny}}]\n":           {},
	} {
		if want == nil {
			want = []string{"local", "host", "yan", "zoe"}
		}
		if got := load(t, text+asks).Deciders(); !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := policy.Default().Deciders(); !slices.Equal(got, []string{"local"}) {
		t.Errorf("by default: %q", got)
	}
}
