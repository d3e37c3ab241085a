package policy_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func TestWhatIsLooser(t *testing.T) {
	const base = `
default: deny
approvers: {ops: [ann, bob]}
asks: {default: {of: ops, need: 2, within: 5m}, one: {of: [ann], within: 5m}}
rules:
- {name: reads, allow: ["read_*", list], args: {path: {under: /srv}}}
- {name: never, deny: ["*"], args: {path: {glob: "**/.env"}}, say: No.}
- {name: writes, ask: [write], as: one}
- {name: pays, allow: [pay], from: [ops], limit: {count: 3/day, over: ask}}
proposals: {fulfil: ask}
redact: ["*token*", /a/b]
`
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", "", "", ""},
		{"a name", "name: never", "name: secrets", ""},
		{"one tool less", `["read_*", list]`, `["read_*"]`, ""},
		{"a rule for reading less", `- {name: reads, allow: ["read_*", list], args: {path: {under: /srv}}}`, "", ""},
		{"an ask becomes a deny", `ask: [write], as: one`, `deny: [write]`, ""},
		{"another deny", "rules:", "rules:\n- {deny: [x]}", ""},
		{"fewer people", "ops: [ann, bob]}\nasks: {default: {of: ops, need: 2, within: 5m}, one: {of: [ann]", "ops: [ann, bob]}\nasks: {default: {of: ops, need: 2, within: 1m}, one: {of: [ann]", ""},
		{"never", "fulfil: ask", "fulfil: never", ""},
		{"a deny of all tools instead", `- {name: writes, ask: [write], as: one}`, `- {deny: [write]}`, ""},

		{"nothing is let through any more", base, "default: deny\nredact: ['*token*', /a/b]", ""},

		{"words", "say: No.", "say: Never.", `rule never (line 7) says other words: "Never.", and said "No."`},
		{"more hidden", "/a/b]", `/a/b, "*key*"]`, "redact hides *key* too"},
		{"the default", "default: deny", "default: ask", "the default is ask, and was deny"},
		{"one tool more", `list]`, `list, move]`, "rule reads (line 6) is new or changed, and may let more through: allow read_*, list, move"},
		{"another directory", "under: /srv", "under: /", "rule reads"},
		{"a deny is gone", `- {name: never, deny: ["*"], args: {path: {glob: "**/.env"}}, say: No.}`, "", "rule never (line 7) is gone or changed, and held calls back: deny *"},
		{"a deny of less", `glob: "**/.env"`, `glob: "/x/.env"`, "rule never"},
		{"an ask becomes an allow", "ask: [write], as: one", "allow: [write]", "rule writes"},
		{"an ask under a default that denies", "rules:", "rules:\n- {ask: [x]}", "rule ask x"},
		{"who may be asked", "one: {of: [ann]", "one: {of: [ann, eve]", "rule writes"},
		{"how many", "need: 2", "need: 1", "the default asks 1 to agree, and asked 2"},
		{"a member of a group", "ops: [ann, bob]", "ops: [ann, bob, eve]", "rule pays"},
		{"a limit", "3/day", "4/day", "rule pays"},
		{"a limit that is gone", ", limit: {count: 3/day, over: ask}", "", "rule pays"},
		{"an except", "say: No.", "except: {from: ann}", "rule never"},
		{"proposals", "fulfil: ask", "fulfil: policy", "proposals: fulfil is policy, and was ask"},
		{"broadcasts", "fulfil: ask", "fulfil: ask, broadcast: true", "broadcast"},
		{"hints", "redact:", "server: {trust_hints: true}\nredact:", "server: trust_hints is true now"},
		{"what passes", "redact:", "server: {pass: [_meta.x, _meta.y]}\nredact:", "server: pass lists _meta.y now"},
		{"pins", "redact:", "server: {pin: off}\nredact:", "pin is off"},
		{"hidden", ", /a/b]", "]", "redact does not hide /a/b any more"},
		{"remembered", "need: 2, within: 5m", "need: 2, within: 5m, remember: [once, always]", "the default asks for a yes that lasts longer"},
		{"changed", "need: 2, within: 5m", "need: 2, within: 5m, edit: {f: {arg: /f}}", "people who may change f"},
	} {
		if !strings.Contains(base, c.old) {
			t.Fatal(c.name)
		}
		got := strings.Join(policy.Looser(load(t, base), load(t, strings.Replace(base, c.old, c.new, 1))), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// A rule that allowed less by one except more was said to let calls through, and so was one
// that stood there unchanged when the default ask got other people.
func TestARuleThatOnlyAllowsLessIsNotSaidToAllowMore(t *testing.T) {
	const base = "version: 1\ndefault: deny\napprovers: {ops: [ann]}\nrules:\n- {name: reads, allow: ['read_*', list], except: {from: ops}}\n- {name: never, deny: [x], except: {from: bob}}\n"
	const other = "{args: {path: {glob: '*.key'}}}"
	for _, c := range []struct{ name, old, new, want string }{
		{"one more", "except: {from: ops}}", "except: [" + other + ", {from: ops}]}", ""},
		{"one more, and a tool less", "['read_*', list], except: {from: ops}}", "[list], except: [{from: ops}, " + other + "]}", ""},
		{"people for what no rule asks about", "rules:", "asks: {default: {of: [ann]}}\nrules:", "the default asks more people: ann"},

		{"another", "except: {from: ops}}", "except: " + other + "}", "rule reads (line 5) is new or changed, and may let more through"},
		{"none", ", except: {from: ops}}", "}", "rule reads"},
		{"a smaller group in it", "ops: [ann]", "ops: [bob]", "rule reads"},
		{"one more of a deny", "except: {from: bob}}", "except: [{from: bob}, " + other + "]}", "rule never (line 6) is gone or changed, and held calls back"},
		{"a condition less", "except: {from: ops}}", "except: [{from: ops}, " + other + "]}\n- {allow: [list]}", "rule allow list"},
		{"beside a limit", "except: {from: ops}}", "except: [{from: ops}, " + other + "]}\n- {name: pays, ask: [list], limit: {count: 1/day}}", "rule reads"},
	} {
		after := strings.Replace(base, c.old, c.new, 1)
		if after == base {
			t.Fatal(c.name)
		}
		got := strings.Join(policy.Looser(load(t, base), load(t, after)), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.HasPrefix(c.want, "the default") && strings.Contains(got, "rule ") {
			t.Errorf("%s\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// A file that trusted the server less, or let fewer words pass, waited for a yes, with
// "server is changed" for whoever had to give it.
func TestAStricterServerSectionWaitedForAYes(t *testing.T) {
	const trusting = "version: 1\ndefault: ask\nserver: {trust_hints: true, pass: [_meta.x, _meta.y], pin: warn}\n"
	for _, stricter := range []string{"version: 1\ndefault: ask\n", "version: 1\ndefault: ask\nserver: {trust_hints: true, pass: [_meta.x], pin: warn}\n",
		"version: 1\ndefault: ask\nserver: {trust_hints: true, pass: [_meta.y, _meta.x], pin: block}\n"} {
		if got := policy.Looser(load(t, trusting), load(t, stricter)); len(got) > 0 {
			t.Errorf("%s\n%q", stricter, got)
		}
	}
}

// Hints that were believed counted as the worst from then on: what a rule lets through or
// holds back by them was another call, and nobody was asked.
func TestHintsThatAreNotBelievedAnyMoreLetMoreThrough(t *testing.T) {
	const trusting = "server: {trust_hints: true}\n"
	yes, no := true, false
	for rule, hints := range map[string]policy.Hints{
		"{deny: ['*'], except: {hints: {openWorld: true}}}":                        {OpenWorld: &no},
		"{deny: ['*'], hints: {openWorld: false}}":                                 {OpenWorld: &no},
		"{deny: ['*'], when: '!hints.openWorld'}":                                  {OpenWorld: &no},
		"{deny: ['*'], except: {when: 'has(hints.openWorld) && !hints.readOnly'}}": {ReadOnly: &yes},
	} {
		file := "version: 1\ndefault: allow\nrules:\n- " + rule + "\n"
		before, after := load(t, trusting+file), load(t, file)
		c := policy.Call{Method: "tools/call", Tool: "t", Hints: hints}
		if was, is := before.Decide(c, nil).Verdict, after.Decide(c, nil).Verdict; was != policy.Deny || is != policy.Allow {
			t.Fatalf("%s: %s, and then %s", rule, was, is)
		}
		if got := policy.Looser(before, after); len(got) != 1 || !strings.HasPrefix(got[0], "server: trust_hints is false now, and rule ") {
			t.Errorf("%s\n%q", rule, got)
		}
	}
}

// A rule without a name has its effect in that by which the ledger knows it: allowed calls
// that came to be asked about had used nothing of their limit, and nobody heard of that.
func TestALimitThatStartsAnewUnderAnotherEffectLetsMoreThrough(t *testing.T) {
	for _, fallback := range []string{"ask", "allow"} {
		file := "version: 1\ndefault: " + fallback + "\nasks: {default: {of: [ann]}}\nrules:\n- {allow: pay, limit: {count: 1/day}}\n"
		before, after := load(t, file), load(t, strings.Replace(file, "allow: pay", "ask: pay", 1))
		var used policy.Ledger
		c := policy.Call{Method: "tools/call", Tool: "pay", From: "bob", Now: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)}
		used.Reserve(before.Decide(c, &used), c.Now)
		if was, is := before.Decide(c, &used).Verdict, after.Decide(c, &used).Verdict; was != policy.Deny || is != policy.Ask {
			t.Fatalf("%s, and then %s", was, is)
		}
		if got := policy.Looser(before, after); len(got) != 1 || !strings.HasPrefix(got[0], "rule allow pay (line 5) is gone or changed") {
			t.Errorf("%s: %q", fallback, got)
		}
	}
	const named = "version: 1\ndefault: ask\nasks: {default: {of: [ann]}}\nrules:\n- {name: pays, allow: pay, limit: {count: 1/day}}\n"
	if got := policy.Looser(load(t, named), load(t, strings.Replace(named, "allow: pay", "ask: pay", 1))); len(got) > 0 {
		t.Errorf("under its own name: %q", got)
	}
}

// No call fares better under a policy that is not said to be looser.
func TestNothingIsLooserThatIsNotSaidToBe(t *testing.T) {
	quiet := 0
	for seed := range uint64(rounds) {
		d := newDice(seed)
		rules := d.rules()
		before := load(t, file(d.fallback(), rules))
		changed := slices.Clone(rules)
		switch n := len(changed); {
		case n > 0 && d.IntN(3) == 0:
			changed = slices.Delete(changed, 0, 1)
		case n > 0 && d.IntN(3) == 0:
			changed[d.IntN(n)] = d.rule(d.one("allow", "ask", "deny"))
		case n > 0 && d.IntN(3) == 0:
			i := d.IntN(n)
			changed[i] = lessBy(changed[i], d.conditions("except"))
		default:
			changed = append(changed, d.rule(d.one("ask", "deny", "deny")))
		}
		after := load(t, file(before.Default.String(), changed))
		if len(policy.Looser(before, after)) > 0 {
			continue
		}
		quiet++
		dice := dice{rand.New(rand.NewPCG(seed, 11))}
		for range 50 {
			c := dice.call(dice.args())
			if x, y := before.Decide(c, nil), after.Decide(c, nil); y.Verdict > x.Verdict {
				t.Fatalf("seed %d: %s before, %s after\n%s\n%s", seed, x, y, strings.Join(rules, ""), strings.Join(changed, ""))
			}
		}
	}
	if quiet < rounds/10 {
		t.Errorf("only %d of %d are tighter", quiet, rounds)
	}
}

// lessBy is a rule with an except, which it may have had.
func lessBy(rule, except string) string {
	if strings.Contains(rule, "except") {
		return rule
	}
	return strings.Replace(rule, "}\n", ", except: {"+except+"}}\n", 1)
}

func TestAnAskThatNobodyCouldEverAnswer(t *testing.T) {
	for _, c := range []struct {
		text string
		host bool
		want string // "" for none
	}{
		{"default: deny\nasks: {own: {of: [fs]}}\nrules:\n- {name: w, ask: [x], as: own}\nproposals: {fulfil: policy}", false, "p:4:1: rule w asks for 1 who agree, of fs, and fs is this bridge itself: nobody could ever answer it"},
		{"default: ask\nasks: {default: {of: [ann, fs], need: 2}}", false, "p: the default asks for 2 who agree, of ann, fs, and fs is this bridge itself"},
		{"default: deny\nasks: {default: {of: [fs]}}", false, "the default asks"},
		{"default: ask\nasks: {default: {of: [host]}}", false, "host is nobody without --stdio and --gate-host"},
		{"default: ask\nasks: {default: {of: [host]}}", true, ""},
		{"default: ask\nasks: {default: {of: [host, local, fs], need: 1}}", false, ""},
		{"default: deny\nasks: {own: {of: [fs]}}\nproposals: {fulfil: never}\nrules:\n- {name: w, allow: [x], limit: {count: 1/day, over: ask}, as: own}", false, "rule w asks"},
		{"default: deny\nasks: {own: {of: [fs]}}\nproposals: {fulfil: never}", false, ""},
		// a tool that has changed is asked about, and so is what stands beside the arguments
		{"default: deny\nasks: {default: {of: [fs]}}\nproposals: {fulfil: never}\nrules:\n- {allow: [x]}", false, "the default asks"},
		{"default: allow\nasks: {default: {of: [fs]}}\nproposals: {fulfil: never}", false, "the default asks"},
		{"default: deny\nasks: {default: {of: [fs]}}\nproposals: {fulfil: never}\nrules:\n- {deny: [x]}", false, ""},
	} {
		got := ""
		if wrong := load(t, c.text).Unanswerable("fs", c.host); wrong != nil {
			wrong.File = "p"
			got = wrong.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}
