package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Every way a file can be wrong is an error that says where, what, and where
// possible what to do.
func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// The file as a whole.
		{"", "x.yaml:1:1: the file is empty (a policy has at least a default: allow, ask or deny)"},
		{"# nothing\n", "x.yaml:1:1: the file is empty"},
		{"---\n", "x.yaml:1:1: the file is empty"},
		{"{}", "x.yaml:1:1: default is missing: the policy has to say what becomes of a call that no rule names (write default: ask, allow or deny)"},
		{`{"default":`, "x.yaml:1:11: this is no YAML: could not find map value"},
		{"default: [", "x.yaml:1:10: this is no YAML"},
		{"- default: deny", "x.yaml:1:1: a policy is a mapping of approvers, asks, default, notify, proposals, provides, redact, rules, server, tests, version, not a list"},
		{"deny", "x.yaml:1:1: a policy is a mapping of approvers"},
		{"default: deny\n---\ndefault: allow\n", "x.yaml:3:1: the file holds a second document; a policy is one"},
		{"default: deny\n\xff: 1\n", "x.yaml: the file is not UTF-8"},
		{"default: deny # " + strings.Repeat("x", 300<<10), "x.yaml: the file has over 262144 bytes, more than a policy has"},
		{"default: " + strings.Repeat("[", 300), "x.yaml: the file is nested too deeply"},
		{"rules:\n" + strings.Repeat("- ", 50) + "x", "x.yaml: the file is nested too deeply"},
		{"default: &a deny", "x.yaml:1:10: anchors, aliases, merge keys, tags and directives are not read in a policy (say it again where it is needed; asks share terms with extends)"},
		{"default: !!str deny", "x.yaml:1:10: anchors"},
		{"%YAML 1.1\n---\ndefault: deny", "x.yaml:1:1: anchors"},
		{"<<: {default: deny}", "x.yaml:1:1: anchors"},
		{"? default\n: deny", "x.yaml:1:1: anchors"},
		{"a: &b 1\nc: *b\n? d\n: 1", "x.yaml:1:4: anchors"},

		// What everybody gets wrong who writes patterns in YAML (NEWCOMER 15).
		{"default: ask\nrules:\n  - deny: [*]\n", `x.yaml:3:12: a * at the beginning has to be in quotes: deny: ["*"]`},
		{"default: ask\nrules:\n  - deny: *\n", `x.yaml:3:11: a * at the beginning has to be in quotes: deny: ["*"]`},
		{"default: ask\nrules:\n  - deny: *_x\n", `x.yaml:3:11: a * at the beginning has to be in quotes: deny: ["*_x"]`},
		{"default: ask\nrules:\n  - deny:\n    - *\r\n", `x.yaml:4:7: a * at the beginning has to be in quotes: deny: ["*"]`},
		{"default: ask\nrules: [{deny: [ä, *_x, b]}]", `x.yaml:2:20: a * at the beginning has to be in quotes: deny: ["*_x"]`},
		{arg("p: {glob: **/.env}"), `x.yaml:3:31: a * at the beginning has to be in quotes: glob: "**/.env"`},
		{arg("**: {glob: x}"), `x.yaml:3:21: a * at the beginning has to be in quotes: "**": …`},
		{"*", `x.yaml:1:1: a * at the beginning has to be in quotes: "*"`},
		{"default: *", `x.yaml:1:10: a * at the beginning has to be in quotes: default: "*"`},
		{"default: ask\nrules:\n\t- deny: [a]\n", "x.yaml:3:1: a tab; YAML indents with spaces"},
		{"default: ask\nrules:\n  -\tdeny: [a]\n", "x.yaml:3:4: a tab; YAML indents with spaces"},
		{"default: ask\nserver:\n    pin: ask\n  \ttrust_hints: true\n", "x.yaml:4:3: a tab; YAML indents with spaces"},

		// Keys of an ask beside it (NEWCOMER 14).
		{"default: ask\nrules:\n- {ask: [x], need: 2, of: [ann, ben]}", `x.yaml:3:14: a rule has no key "need" (need belongs to an ask: as: {of: [ann, ben], need: 2})`},
		{"default: ask\nrules:\n- {ask: [x], need: 2, of: [ann, ben]}", `x.yaml:3:23: a rule has no key "of" (of belongs to an ask: as: {of: [ann, ben], need: 2})`},
		{"default: ask\nrules:\n- {ask: [x], within: 5m}", `(within belongs to an ask: as: {of: [ann], within: 10m})`},
		{"default: ask\nneed: 2", `x.yaml:2:1: a policy has no key "need" (known are`},

		// Keys.
		{"default: deny\nrulez: []", `x.yaml:2:1: a policy has no key "rulez" (did you mean rules?)`},
		{"Default: deny", `x.yaml:1:1: a policy has no key "Default" (did you mean default?)`},
		{"default: deny\nrules: [{deny: ['*'], granted: {}}]", `x.yaml:2:23: a rule has no key "granted"`},
		{"default: deny\non_timeout: allow", `x.yaml:2:1: a policy has no key "on_timeout" (known are approvers, asks`},
		{"default: deny\ndefault: allow", `x.yaml:2:1: the key "default" stands twice in one mapping`},
		{`{"default": "deny", "def\u0061ult": "allow"}`, `x.yaml:1:21: the key "default" stands twice`},
		{"default: deny\nrules:\n- {allow: [x], argz: {}}", `x.yaml:3:16: a rule has no key "argz" (did you mean args?)`},
		{"default: deny\n[a]: b", "x.yaml:2:"},
		{"default: deny\n5: b", `x.yaml:2:1: a policy has no key "5"`},
		{"default: deny\nserver: {pinn: ask}", `x.yaml:2:10: server has no key "pinn" (did you mean pin?)`},

		// Words and values.
		{"default:", "x.yaml:1:1: default has no value"},
		{"default: alow", `x.yaml:1:10: default is one of allow, ask, deny, not "alow" (did you mean allow?)`},
		{"default: Allow", `x.yaml:1:10: default is one of allow, ask, deny, not "Allow" (did you mean allow?)`},
		{"default: yes", `x.yaml:1:10: default is one of allow, ask, deny, not "yes"`},
		{"default: [deny]", "x.yaml:1:10: default is one of allow, ask, deny, not a list"},
		{"default: null", `not "null"`},
		{"version: 2\ndefault: deny", `x.yaml:1:10: version is 1, not "2"`},
		{"default: deny\nproposals: {fulfil: policy, broadcast: yes}", `x.yaml:2:40: broadcast is true or false, not "yes" (write true or false)`},
		{"default: deny\nproposals: {broadcast: \"true\"}", "broadcast is true or false"},
		{"default: deny\nproposals: {broadcast: [true]}", "broadcast is true or false"},
		{"default: deny\nproposals: {fulfill: ask}", "did you mean fulfil?"},
		{"default: deny\nproposals: {fulfil: always}", "fulfil is one of ask, policy, never"},
		{"default: deny\nproposals: {reject_untargeted: no}", "reject_untargeted is one of auto, always, never"},
		{"default: deny\nproposals: ask", "proposals is a mapping of broadcast, fulfil, reject_untargeted, not a single value"},
		{"default: deny\nserver: {pin: false}", "pin is one of off, warn, ask, block"},
		{"default: deny\nserver: {trust_hints: 1}", "trust_hints is true or false"},
		{"default: deny\nredact: token", "redact is a list, not a single value (begin each with a dash)"},
		{"default: deny\nredact: [a/b]", "x.yaml:2:10: redact: a JSON pointer is made of /step/step, with ~1 for / and ~0 for ~ (a key alone"},
		{"default: deny\nredact: [\"/a~2\"]", "redact: a JSON pointer"},
		{"default: deny\nredact: [\"\"]", "redact is empty"},

		// Approvers and asks.
		{"default: ask\napprovers: []", "x.yaml:2:12: approvers is a mapping with something in it"},
		{"default: ask\napprovers: {}", "approvers is a mapping with something in it"},
		{"default: ask\napprovers: {ops: []}", "x.yaml:2:18: the group ops is a value or a list with something in it, not an empty list"},
		{"default: ask\napprovers: {ops: {}}", "the group ops is a value or a list with something in it, not a mapping"},
		{"default: ask\napprovers: {ops:}", "ops has no value"},
		{"default: ask\napprovers: {\"\": a}", "approvers has a key without a name"},
		{"default: ask\napprovers: {ops: ['*']}", `x.yaml:2:19: the group ops: "*" is a pattern; approvers are named one by one, or callers could decide for themselves (name everyone who may decide)`},
		{"default: ask\napprovers: {ops: [a b]}", `the group ops: "a b" is no participant id`},
		{"default: ask\napprovers: {ops: [system:gateway]}", "is no participant id"},
		{"default: ask\napprovers: {local: [a]}", "neither local nor host"},
		{"default: ask\napprovers: {ops: [no]}", `x.yaml:2:19: the group ops: to other readers of YAML the bare word no is no text (put it in quotes: "no")`},
		{"default: ask\napprovers: {ops: [[a]]}", "the group ops is a text, not a list"},
		{"default: ask\napprovers: {ops: [alice], all: [ops, bob]}", "x.yaml:2:33: ops is a group itself; groups do not nest (name its members)"},
		{"default: ask\napprovers: {ops: [alice], all: ops}", "groups do not nest"},
		{"default: ask\nasks: {default: {of: []}}", "of is a value or a list with something in it, not an empty list"},
		{"default: ask\nasks: {default: {of: ['*']}}", "is a pattern"},
		{"default: ask\nasks: {default: {of: ['agent-?']}}", "is a pattern"},
		{"default: ask\nasks: {default: {of: locale}}", `"locale" is no group, and too like local for an id (did you mean local?`},
		{"default: ask\napprovers: {operators: [a]}\nasks: {default: {of: operatros}}", "x.yaml:3:22: of: \"operatros\" is no group, and too like operators for an id"},
		{"default: ask\napprovers: {ops: [a]}\nasks: {default: {of: Ops}}", "too like ops"},
		{"default: ask\nasks: {default: {need: 2}}", "x.yaml:2:17: nobody could answer the ask default: it needs 2 to agree and names 1"},
		{"default: ask\nasks: {default: {of: [a, a], need: 2}}", "it needs 2 to agree and names 1"},
		{"default: ask\nasks: {default: {need: 0}}", `need is a whole number from 1 to 100, not "0"`},
		{"default: ask\nasks: {default: {need: 1.5}}", "need is a whole number"},
		{"default: ask\nasks: {default: {need: \"1\"}}", "need is a whole number"},
		{"default: ask\nasks: {default: {within: 0}}", "x.yaml:2:26: within is 0, so nobody could answer in time; a question always has an end, and no answer is a no"},
		{"default: ask\nasks: {default: {within: 0s}}", "within is 0s"},
		{"default: ask\nasks: {default: {within: -5m}}", "within is -5m"},
		{"default: ask\nasks: {default: {within: 300}}", `within is a duration, not "300" (with a unit, like 30s, 5m or 1h30m)`},
		{"default: ask\nasks: {default: {within: 2d}}", "within is 2d; the longest is 24h"},
		{"default: ask\nasks: {default: {within: forever}}", "within is a duration"},
		{"default: ask\nasks: {default: {within: [5m]}}", "within is a duration"},
		{"default: ask\nasks: {default: {mode: any}}", "mode is one of parallel, sequential"},
		{"default: ask\nasks: {default: {priority: urgent}}", "priority is one of low, normal, high"},
		{"default: ask\nasks: {default: {remember: forever}}", "remember is one of once, session, folder, tool, always"},
		{"default: ask\nasks: {default: {remember: [once, folder]}}", "the ask default remembers folders, and does not say of which argument"},
		{"default: ask\nasks: {default: {remember: [once, folder], folder: path}}", "folder: \"path\" is none"},
		{"default: ask\nasks: {default: {remember: [once, folder], folder: /a/b}}", "folder: \"/a/b\" is none"},
		{"default: ask\nasks: {default: {remember: []}}", "remember is a value or a list"},
		{"default: ask\nasks: {default: {delegate: {depth: 2}}}", "delegate does not say to whom"},
		{"default: ask\nasks: {default: {delegate: {to: bob, depth: 4}}}", "depth is a whole number from 1 to 3"},
		{"default: ask\nasks: {default: {delegate: {to: ['*']}}}", "is a pattern"},
		{"default: ask\nasks: {a: {of: [local, ann], need: 2, confirm: passkey}}", "nobody could answer the ask a: passkeys sign for local, and for nobody else (write of: with local, and need: 1 or nothing)"},
		{"default: ask\nasks: {a: {of: [ann], confirm: passkey}}", "nobody could answer the ask a: passkeys sign for local"},
		{"default: ask\nasks: {a: {of: [local], confirm: passkey, remember: [once, session]}}", "x.yaml:2:53: the ask a takes a passkey for each call, and remembers no yes (leave remember: out)"},
		{"default: ask\nasks: {a: {of: [local], confirm: passkey, delegate: {to: ann}}}", "x.yaml:2:53: the ask a takes a passkey, which signs for local alone, and is passed on to nobody (leave delegate: out)"},
		{"default: ask\nasks: {a: {of: [local], confirm: passkey}, b: {extends: a, delegate: {to: ann}}}", "the ask b takes a passkey, which signs for local alone"},
		{"default: ask\nrules:\n- {ask: [x], as: {of: [local], confirm: passkey, delegate: {to: ann}}}", "which signs for local alone, and is passed on to nobody"},
		{"default: ask\nasks: []", "asks is a mapping with something in it"},
		{"default: ask\nasks: {a: {need: 1}}", "x.yaml:2:11: the ask a does not say who is asked (write of: with ids or groups, or extends: default)"},
		{"default: ask\nasks: {a: 5}", "the ask a is a mapping of confirm"},
		{"default: ask\nasks: {a: {extends: careful}}", `there is no ask named "careful" (known are a, default)`},
		{"default: ask\nasks: {careful: {of: a}, b: {extends: carefull}}", `(did you mean careful?)`},
		{"default: ask\nasks: {a: {extends: b}, b: {extends: a}}", "asks extend each other in a circle: a, b, a"},
		{"default: ask\nasks: {a: {extends: [b]}}", "there is no ask named"},
		{"default: ask\nasks: {default: {edit: {}}}", "edit is a mapping with something in it"},
		{"default: ask\nasks: {default: {edit: {approve: {arg: /x}}}}", "edit: a field is named with letters, digits and _, and is none of approve"},
		{"default: ask\nasks: {default: {edit: {" + strings.Repeat("x", 65) + ": {arg: /x}}}}", "edit: a field is named with"},
		{"default: ask\nasks: {default: {edit: {" + strings.Repeat("x", 64) + ": {title: X}}}}", "x does not say which argument it is"},
		{"default: ask\nasks: {default: {edit: {x: {title: X}}}}", "edit.x does not say which argument it is (write arg: with a JSON pointer like /target, or @timeout)"},
		{"default: ask\nasks: {default: {edit: {x: {arg: target}}}}", `arg: "target" is neither (write a JSON pointer`},
		{"default: ask\nasks: {default: {edit: {x: {arg: /}}}}", "is neither"},
		{"default: ask\nasks: {default: {edit: {x: {arg: \"@time\"}}}}", "is neither"},
		{"default: ask\nasks: {default: {edit: {x: {arg: /x, type: date}}}}", "type is one of string, number, integer, boolean"},
		{"default: ask\nasks: {default: {edit: {x: {arg: /x, enum: [a, 5]}}}}", "edit.x: 5 is no string"},
		{"default: ask\nasks: {default: {edit: {x: {arg: /x, type: integer, enum: [1.5]}}}}", "edit.x: 1.5 is no integer"},
		{"default: ask\nasks: {default: {edit: {x: {arg: /x, type: boolean, enum: [a]}}}}", "edit.x: a is no boolean"},
		{"default: ask\nasks: {default: {edit: {x: {arg: /x, type: string, min: 1}}}}", "edit.x: min, max and @timeout go with numbers, not with a string"},
		{"default: ask\nasks: {default: {edit: {x: {arg: \"@timeout\", type: string}}}}", "go with numbers"},
		{"default: ask\nasks: {default: {edit: {x: {arg: /x, max: 1" + strings.Repeat("0", 64) + "}}}}", "x.yaml:2:43: max has 65 bytes; a field holds numbers of up to 64"},
		{"default: ask\nasks: {default: {edit: {x: {arg: /x, min: 2, max: 1}}}}", "edit.x: min is over max"},
		{"default: ask\nasks: {default: {edit: {x: {arg: /x, min: a}}}}", `min is a number, not "a"`},
		{"default: ask\nasks: {default: {edit: {x: {arg: /x, enum: [no]}}}}", "the bare word no means different things"},

		// Rules.
		{"default: deny\nrules: {}", "rules is a list, not a mapping (begin each with a dash)"},
		{"default: deny\nrules: [allow]", "a rule is a mapping of allow"},
		{"default: deny\nrules:\n- {}", "x.yaml:3:3: a rule has exactly one of allow, ask and deny; this one has 0"},
		{"default: deny\nrules:\n- {allow: [a], deny: [b]}", "this one has 2"},
		{"default: deny\nrules:\n- {allow: []}", "allow is a value or a list with something in it, not an empty list"},
		{"default: deny\nrules:\n- {allow: ['']}", "allow is empty"},
		{"default: deny\nrules:\n- {allow: ['re:(']}", `x.yaml:3:12: allow: "re:(": a pattern of names knows * for any run of characters and ? for any one, and nothing else (regular expressions are for args; ? can stand for an odd character)`},
		{"default: deny\nrules:\n- {allow: ['re:read']}", "a pattern of names knows"},
		{"default: deny\nrules:\n- {allow: ['[ab]*']}", "a pattern of names knows"},
		{"default: deny\nrules:\n- {allow: [' a']}", "a pattern of names knows"},
		{"default: deny\nrules:\n- {tool: a, action: allow}", `a rule has no key "tool"`},
		{"default: deny\nrules:\n- {allow: a, name: x}\n- {deny: b, name: x}", `x.yaml:4:3: the name "x" is taken`},
		{"default: deny\nrules:\n- {allow: a, name: default}", `the name "default" is taken`},
		{"default: deny\nrules:\n- {allow: a, name: 5, from: ['a/b']}", `from: "a/b" fits no participant id`},
		{"default: deny\nrules:\n- {allow: a, from: []}", "from is a value or a list"},
		{"default: deny\nrules:\n- {allow: a, via: chat}", "via is one of request, proposal"},
		{"default: deny\nrules:\n- {allow: a, methods: ['(']}", "methods: \"(\": a pattern of names knows"},
		{"default: deny\nrules:\n- {allow: a, hints: {}}", "hints is empty"},
		{"default: deny\nrules:\n- {allow: a, hints: {readonly: true}}", `hints has no key "readonly" (did you mean readOnly?)`},
		{"default: deny\nrules:\n- {allow: a, hints: {readOnly: yes}}", "readOnly is true or false"},
		{"default: deny\nrules:\n- {allow: a, hours: 8-18}", `hours are written like "mon-fri 08:00-18:00 Europe/Berlin", with the time zone or UTC`},
		{"default: deny\nrules:\n- {allow: a, hours: '08:00-18:00'}", "hours are written like"},
		{"default: deny\nrules:\n- {allow: a, hours: '08:00-25:00 UTC'}", "08:00-25:00 is no time of a day"},
		{"default: deny\nrules:\n- {allow: a, hours: '24:00-08:00 UTC'}", "24:00-08:00 is no time of a day"},
		{"default: deny\nrules:\n- {allow: a, hours: '08:00-24:01 UTC'}", "08:00-24:01 is no time of a day"},
		{"default: deny\nrules:\n- {allow: a, hours: '08:00-18:60 UTC'}", "hours are written like"},
		{"default: deny\nrules:\n- {allow: a, hours: '8:00-18:00 UTC'}", "hours are written like"},
		{"default: deny\nrules:\n- {allow: a, hours: 'mon, 08:00-18:00 UTC'}", `"" is no day of the week`},
		{"default: deny\nrules:\n- {allow: a, hours: 'mon- 08:00-18:00 UTC'}", `"mon-" is no day of the week`},
		{"default: deny\nrules:\n- {allow: a, hours: '08:00-08:00 UTC'}", "is no time of a day"},
		{"default: deny\nrules:\n- {allow: a, hours: 'mo-fr 08:00-18:00 UTC'}", `"mo-fr" is no day of the week`},
		{"default: deny\nrules:\n- {allow: a, hours: '08:00-18:00 Europe/Berln'}", "there is no time zone Europe/Berln"},
		{"default: deny\nrules:\n- {allow: a, until: tomorrow}", `until: "tomorrow" is no date (write 2026-12-31`},
		{"default: deny\nrules:\n- {allow: a, except: {}}", "an empty except would take the whole rule away"},
		{"default: deny\nrules:\n- {allow: a, except: []}", "except is empty"},
		{"default: deny\nrules:\n- {allow: a, except: {tools: ['(']}}", "tools: \"(\""},
		{"default: deny\nrules:\n- {allow: a, except: {limit: 5}}", `except has no key "limit"`},
		{"default: deny\nrules:\n- {allow: a, say: '" + strings.Repeat("x", 501) + "'}", "say has 501 bytes; at most 500 are passed on"},
		{"default: deny\nrules:\n- {ask: a, as: careful}", `x.yaml:3:16: there is no ask named "careful"`},
		{"default: deny\nrules:\n- {allow: a, as: default}", "as says how to ask, but this rule never asks"},
		{"default: deny\nrules:\n- {deny: a, as: default}", "as says how to ask, but this rule never asks"},
		{"default: deny\nrules:\n- {ask: a, as: {need: 2}}", "nobody could answer as: it needs 2 to agree and names 1 (name more under of:)"},
		{"default: deny\nrules:\n- {ask: a, as: {}}", "as says nothing (leave it out, and the default asks)"},
		{"default: deny\nrules:\n- {ask: a, as: [default]}", "as is a mapping of"},

		// Limits.
		{"default: deny\nrules:\n- {deny: a, limit: {count: 1/day}}", "a deny has no use for a limit"},
		{"default: deny\nrules:\n- {ask: a, limit: {count: 1/day, over: ask}}", "an ask that is over its limit cannot ask: it asks already (write over: deny, or leave it out)"},
		{"default: deny\nrules:\n- {allow: a, limit: {}}", "limit limits nothing"},
		{"default: deny\nrules:\n- {allow: a, limit: 10/day}", "limit is a mapping of count, over, per, sum"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 10}}", `count is a number per time, not "10" (write it like 10/day or 5/30m)`},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 0/day}}", "count is a number per time"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 1000000000/day}}", "count is a number per time"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 010/day}}", "count is a number per time"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: -1/day}}", "count is a number per time"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 1.5/day}}", "count is a number per time"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: '10/ day'}}", "count is a number per time"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 10/}}", "count is a number per time"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 10/8785h}}", "a window"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 10/days}}", "a window is a duration"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 10/0s}}", "a window is 0s"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: [1]}}", "count is a number per time"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 1/day, per: tool}}", "per is one of caller, all"},
		{"default: deny\nrules:\n- {allow: a, limit: {count: 1/day, over: allow}}", "over says what becomes of a call over the limit: ask or deny"},
		{"default: deny\nrules:\n- {allow: a, limit: {sum: {arg: /x, max: 5}}}", "limit: the sum has no window (write window: day beside max)"},
		{"default: deny\nrules:\n- {allow: a, limit: {sum: {arg: /x}, count: 1/day}}", "sum adds up one argument to a max of at least 0"},
		{"default: deny\nrules:\n- {allow: a, limit: {sum: {max: 5}, count: 1/day}}", "sum adds up one argument"},
		{"default: deny\nrules:\n- {allow: a, limit: {sum: {arg: /x, max: -5, window: day}}}", "sum adds up one argument"},
		{"default: deny\nrules:\n- {allow: a, limit: {sum: {arg: /x~, max: 5, window: day}}}", `"/x~": a JSON pointer is made of`},
		{"default: deny\nrules:\n- {allow: a, limit: {sum: {arg: /x, max: five, window: day}}}", `max is a number, not "five"`},

		// Arguments.
		{arg(""), "args is a mapping with something in it"},
		{arg("x: 5"), "x.yaml:3:24: args.x is a mapping of tests, not a single value (write x: {is: 5})"},
		{arg("x: [5]"), "args.x is a mapping of glob, has, host, in, is, lacks"},
		{arg("x: {}"), "args.x has no test"},
		{arg("x: {equals: 5}"), `args.x has no key "equals"`},
		{arg("x: {undr: /a}"), `args.x has no key "undr" (did you mean under?)`},
		{arg("x:"), "x has no value"},
		{arg("/x//y: {is: 5}"), "a JSON pointer is made of /step/step"},
		{arg("x: {is: [5]}"), "args.x is compares with a single value, not a list"},
		{arg("x: {in: []}"), "args.x in is a value or a list with something in it"},
		{arg("x: {is: yes}"), `args.x is: the bare word yes means different things to different readers of YAML (write true, false or null, or put it in quotes: "yes")`},
		{arg("x: {is: Off}"), "the bare word Off means different things"},
		{arg("x: {is: True}"), "the bare word True"},
		{arg("x: {is: ~}"), "the bare word ~"},
		{arg("x: {is: 010}"), `different readers of YAML make different things of 010 (write it as a plain decimal, or put it in quotes: "010")`},
		{arg("x: {is: 0x1F}"), "different things of 0x1F"},
		{arg("x: {is: 0o17}"), "different things of 0o17"},
		{arg("x: {is: 1_000}"), "different things of 1_000"},
		{arg("x: {is: +5}"), "different things of +5"},
		{arg("x: {is: .5}"), "different things of .5"},
		{arg("x: {is: 5.}"), "different things of 5."},
		{arg("x: {is: 12:30}"), "different things of 12:30"},
		{arg("x: {is: .inf}"), "different things of .inf"},
		{arg("x: {is: .nan}"), "different things of .nan"},
		{arg("x: {is: 2026-01-01}"), "different things of 2026-01-01"},
		{arg("x: {is: 1e500}"), "1e500 is too long a number"},
		{arg("x: {max: ten}"), `args.x max is a number, not "ten"`},
		{arg("x: {max: '10'}"), `args.x max is a number, not "10"`},
		{arg("x: {max: [10]}"), "args.x max compares with a single value"},
		{arg("x: {maxlen: -1}"), "args.x maxlen is a whole number from 0"},
		{arg("x: {regex: (}"), "error parsing regexp: missing closing )"},
		{arg("x: {regex: 'a)(b'}"), "error parsing regexp: unexpected )"},
		{arg("x: {regex: '(?=a)'}"), "error parsing regexp"},
		{arg("x: {under: /a/*}"), `args.x under: "/a/*" is a directory by its plain name (patterns are for glob)`},
		{arg("x: {under: ../a}"), `"../a" is no path that can be compared (write /srv/docs, docs, ~/docs or C:/docs)`},
		{arg(`x: {under: 'srv\docs'}`), "is no path that can be compared"},
		{arg("x: {under: ''}"), "args.x under is empty"},
		{arg("x: {glob: '/a/[bc]'}"), "a path pattern knows *, ? and **"},
		{arg("x: {glob: '/a/{b,c}'}"), "a path pattern knows"},
		{arg(`x: {glob: 'a\b'}`), "a path pattern knows"},
		{arg("x: {glob: '/a/../b'}"), "** stands alone between slashes"},
		{arg("x: {glob: 'a**'}"), "** stands alone between slashes"},
		{arg("x: {glob: 'C:x'}"), "** stands alone between slashes, and"},
		{arg("x: {host: 'https://a.com'}"), "a host is a name like example.com"},
		{arg("x: {host: 'a.com:080'}"), "a host is a name like example.com"},
		{arg("x: {host: 'a.com:0'}"), "a host is a name like example.com"},
		{arg("x: {host: 'a.com:65536'}"), "a host is a name like example.com"},
		{arg("x: {host: '10.0.0.0/33'}"), "a host is a name like example.com"},
		{arg("x: {host: '*'}"), "a host is a name like"},
		{arg("x: {host: '*.10.0.0.1'}"), "a host is a name like"},
		{arg("x: {host: 'a..com'}"), "a host is a name like"},
		{arg("x: {host: bücher.de}"), "are written in their xn-- form"},
		{arg("x: {type: text}"), "args.x type is one of string, number, integer"},
		{arg("x: {has: {a: 1}}"), "args.x has is a value or a list"},
		{arg("x: {has: [[1]]}"), "args.x has compares with a single value, not a list"},

		// CEL.
		{"default: deny\nrules:\n- allow: a\n  when: arg.x == 1", "x.yaml:4:9: when: undeclared reference to 'arg' (did you mean 'args'?)"},
		{"default: deny\nrules:\n- allow: a\n  when: args.x == y", "x.yaml:4:19: when: undeclared reference to 'y'"},
		{"default: deny\nrules:\n- allow: a\n  when: 'args.x == y'", "x.yaml:4:20: when: undeclared reference to 'y'"},
		{"default: deny\nrules:\n- allow: a\n  when: |\n    args.x == 1 &&\n    y", "x.yaml:6:"},
		{"default: deny\nrules:\n- allow: a\n  when: \"args.x == 1 &&\\ny\"", "x.yaml:4:9: when: undeclared reference to 'y'"},
		{"default: deny\nrules:\n- allow: a\n  when: args.x +", "when: Syntax error"},
		{"default: deny\nrules:\n- allow: a\n  when: '5'", "when: the expression gives int, not true or false"},
		{"default: deny\nrules:\n- allow: a\n  when: ''", "when is empty"},
		{"default: deny\nrules:\n- allow: a\n  when: args.x.matches('(')", "error parsing regexp"},
		{"default: deny\nrules:\n- allow: a\n  when: args.x.matches(args.y)", "x.yaml:4:23: when: matches has to be given a literal text here, not one of the call's"},
		{"default: deny\nrules:\n- allow: a\n  when: matches('x', args.y)", "matches has to be given a literal text"},
		{"default: deny\nrules:\n- allow: a\n  when: args.x.replace('a', args.y) == ''", "replace has to be given a literal text"},
		{"default: deny\nrules:\n- allow: a\n  when: args.x.join(args.y) == ''", "join has to be given"},
		{"default: deny\nrules:\n- allow: a\n  when: string(args.x).format([1]) == ''", "format has to be given"},

		// Inline tests.
		{"default: deny\ntests: [5]", "a test is a mapping of by, call, name, want"},
		{"default: deny\ntests:\n- {call: {tool: x}}", "a test has a call and what it wants: allow, ask or deny"},
		{"default: deny\ntests:\n- {want: deny}", "a test has a call and what it wants"},
		{"default: deny\ntests:\n- {call: {tool: x}, want: no}", "want is one of allow, ask, deny"},
		{"default: deny\nrules:\n- {allow: x, name: reads}\ntests:\n- {call: {tool: x}, want: allow, by: raeds}", `by: there is no rule "raeds" (did you mean reads?)`},
		{"default: deny\ntests:\n- {call: {tol: x}, want: deny}", `call has no key "tol" (did you mean tool?)`},
		{"default: deny\ntests:\n- {call: {tool: x, now: noon}, want: deny}", `now: "noon" is no time`},
		{"default: deny\ntests:\n- {call: {tool: x, args: {a: yes}}, want: deny}", "the bare word yes"},
		{"default: deny\ntests:\n- {call: {tool: x, args: {a: }}, want: deny}", "args: a key has no value (write null)"},
		{"default: deny\ntests:\n- {call: {tool: x, via: chat}, want: deny}", "via is one of"},
	} {
		t.Run(c.text[:min(len(c.text), 90)], func(t *testing.T) {
			p, err := policy.Load("x.yaml", []byte(c.text))
			if err == nil || p != nil {
				t.Fatalf("it loads; want %s", c.want)
			}
			e, ok := errors.AsType[*policy.LoadError](err)
			if !ok {
				t.Fatalf("%T", err)
			}
			var all strings.Builder
			all.WriteString(e.Error())
			for _, more := range e.More {
				all.WriteString("\n" + more.Error())
			}
			if !strings.Contains(all.String(), c.want) {
				t.Errorf("got  %s\nwant %s", all.String(), c.want)
			}
		})
	}
}

// arg is a file with one rule that tests arguments.
func arg(tests string) string {
	return fmt.Sprintf("default: deny\nrules:\n- {allow: t, args: {%s}}\n", tests)
}

// Whoever writes a key of an ask beside the rule is shown an ask that loads.
func TestAKeyOfAnAskBesideTheRule(t *testing.T) {
	for _, key := range []string{"of", "need", "within", "mode", "priority", "remember", "delegate", "edit", "extends"} {
		_, err := policy.Load("x", []byte("default: ask\nrules: [{ask: [x], "+key+": 1}]"))
		e, _ := errors.AsType[*policy.LoadError](err)
		if e == nil {
			t.Fatalf("%s: %v", key, err)
		}
		as, found := strings.CutPrefix(e.Suggestion, key+" belongs to an ask: ")
		if !found || !strings.Contains(as, key+": ") {
			t.Errorf("%s: %s", key, e.Suggestion)
		}
		load(t, "default: ask\nrules: [{ask: [x], "+as+"}]")
	}
}

// All that is wrong is said at once, in the order of the file.
func TestLoadSaysAllThatIsWrong(t *testing.T) {
	_, err := policy.Load("p.yaml", []byte("rules:\n- {alow: x}\n- {deny: y, from: ['?!']}\ndefault: yes\n"))
	e, _ := errors.AsType[*policy.LoadError](err)
	if e == nil || len(e.More) != 3 || e.Line != 2 || e.More[2].Line != 4 || e.More[2].File != "p.yaml" {
		t.Errorf("%+v", e)
	}
}

// A policy that went bad is an error and no policy, so the last good one stays.
func TestABadReloadGivesNothingToUse(t *testing.T) {
	good := load(t, "default: ask\n")
	bad, err := policy.Load("p.yaml", []byte(`{"default":`))
	if bad != nil || err == nil {
		t.Fatal("a half file gave a policy")
	}
	if d := good.Decide(call(`{}`), nil); d.Verdict != policy.Ask {
		t.Error("the old policy changed")
	}
}
