package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// FINDINGS H1: where a key is the one of a test to a lenient server only, the test
// tells nothing; an allow does not match, an ask and a deny do.
func TestAKeyThatIsOneToALenientServerMakesATestUnclear(t *testing.T) {
	for _, c := range []struct{ condition, args, key string }{
		{`args: {path: {under: /srv}}`, `{"PATH":"/srv/a"}`, "PATH"},
		{`args: {path: {type: absent}}`, `{"Path":"/srv/a"}`, "Path"},
		{`args: {/to/env: {is: x}}`, `{"To":{"env":"x"}}`, "To"},
		{`args: {/to/env: {is: x}}`, `{"to":{"ENV":"x"}}`, "ENV"},
		{`args: {/to/*/env: {is: x}}`, `{"to":[{"env":"x"},{"ｅnv":"x"}]}`, `\uff45nv`},
		{`args: {password: {not: x}}`, `{"paſſword":"x"}`, `pa\u017f\u017fword`},
		{`args: {key: {not: x}}`, "{\"\u212aey\":\"x\"}", `\u212aey`},
		{`args: {options: {has: force}}`, `{"options":{"Force":1}}`, "Force"},
		{`args: {options: {lacks: force}}`, `{"options":{"force\u0000":1}}`, `force\x00`},
		{`when: args.target == "x"`, `{"Target":"x"}`, "Target"},
		{`when: '!has(args.target)'`, `{"TARGET":"x"}`, "TARGET"},
		{`when: 'args["target"] == "x"'`, `{"Target":"x"}`, "Target"},
		{`when: '!("target" in args)'`, `{"Target":"x"}`, "Target"},
		{`when: 'has(args.to) && !has(args.to.env)'`, `{"to":{"Env":"x"}}`, "Env"},
		{`when: 'args.all.all(x, !has(x.env))'`, `{"all":[{"b":1},{"Env":"x"}]}`, "Env"},
		{`when: 'args.size() == 1 && !has(args.target)'`, `{"Target":"x"}`, "Target"},
		{`args: {path: {under: /srv}}`, `{"path":"/srv/a","PATH":"/etc"}`, "PATH"},
		{`when: args.path == "a"`, `{"path":"a","x":{"y":1,"Y":2}}`, "Y"},
	} {
		for _, effect := range []string{"allow", "ask", "deny"} {
			d := load(t, "default: ask\nrules:\n- {"+effect+": t, "+c.condition+"}\n").Decide(call(c.args), nil)
			r := d.Reasons[0]
			if r.Match != policy.Unclear || r.Applies == (effect == "allow") || !strings.Contains(r.Why, `"`+c.key+`"`) || !strings.Contains(r.Why, "many servers take") {
				t.Errorf("%s: {%s} of %s: %+v", effect, c.condition, c.args, r)
			}
		}
	}
}

// What is spelled as the test has it is told apart from what lies elsewhere.
func TestKeysOfOtherPlacesMakeNothingUnclear(t *testing.T) {
	for _, c := range []struct{ condition, args string }{
		{`args: {path: {is: a}}`, `{"path":"a","x":{"PATH":"b"}}`},
		{`args: {path: {is: a}}`, `{"path":"a","paths":1,"pa_th":2,"pаth":3}`},
		{`when: args.path == "a"`, `{"path":"a","x":{"PATH":"b"}}`},
		{`when: args.to.env == "a"`, `{"to":{"env":"a"},"Env":1}`},
		{`args: {options: {has: force}}`, `{"options":{"force":1},"Force":2}`},
	} {
		if d := load(t, "default: ask\nrules:\n- {allow: t, "+c.condition+"}\n").Decide(call(c.args), nil); d.Verdict != policy.Allow {
			t.Errorf("{%s} of %s: %+v", c.condition, c.args, d.Reasons)
		}
	}
}

func TestAnAmountUnderAnotherCaseIsOverTheLimit(t *testing.T) {
	p := load(t, "default: deny\nrules:\n- {allow: t, limit: {sum: {arg: /amount, max: 50, window: day}, over: deny}}\n")
	for _, args := range []string{`{"Amount":1}`, `{"amount":1,"Amount":99999}`, `{"amount":1,"AMOUNT\u0000":0}`} {
		if d := p.Decide(call(args), nil); d.Verdict != policy.Deny || !strings.Contains(d.Reasons[0].Why, "many servers take") {
			t.Errorf("%s: %+v", args, d)
		}
	}
}

// FINDINGS H6.
func TestRedactionHidesANameHoweverItIsSpelled(t *testing.T) {
	p := load(t, `{default: ask, redact: ["*password*", "kez?", "café", "/auth/key"]}`)
	for _, given := range []string{
		`{"ｐａｓｓｗｏｒｄ":"s3cret"}`, `{"paſſword":"s3cret"}`, `{"my_PAßWORD":"s3cret"}`, `{"password\u0000x":"s3cret"}`, `{"x\u0000password":"s3cret"}`,
		`{"CAFÉ":"s3cret"}`, `{"cafe\u0301":"s3cret"}`, `{"kezé":"s3cret"}`, "{\"\u212aEZx\":\"s3cret\"}", `{"Auth":{"ＫＥＹ":"s3cret"}}`,
		`{"password":"s3cret","PASSWORD":"s3cret"}`,
	} {
		if got := string(p.Redact([]byte(given))); strings.Contains(got, "s3cret") || !strings.Contains(got, "[redacted]") {
			t.Errorf("%s: %s", given, got)
		}
	}
	if got := string(policy.Default().Redact([]byte(`{"ＡＰＩ＿Ｔｏｋｅｎ":"s3cret"}`))); strings.Contains(got, "s3cret") {
		t.Error(got)
	}
}

// FINDINGS L4.
func TestALineBreakThatSomeReadersDoNotSeeIsALoadError(t *testing.T) {
	for text, place := range map[string]string{
		"default: deny\n# nothing here\r- x\n":                                "p.yaml:2:15",
		"default: deny\nrules:\n# old\r- {allow: '*'}\n":                      "p.yaml:3:6",
		"default: deny\n# é\u2028x\n":                                         "p.yaml:2:4",
		"default: deny # \u0085\n":                                            "p.yaml:1:17",
		"default: deny\r":                                                     "p.yaml:1:14",
		"default: deny\r\n\rrules: []\r\n":                                    "p.yaml:2:1",
		"default: deny\nrules:\n- {deny: t, args: {a: {is: \"x\u2029y\"}}}\n": "p.yaml:3:30",
	} {
		_, err := policy.Load("p.yaml", []byte("version: 1 "+"\n"+text))
		e, ok := errors.AsType[*policy.LoadError](err)
		if !ok {
			t.Errorf("%q loads: %v", text, err)
			continue
		}
		e.Line-- // of the version
		if !strings.HasPrefix(e.Error(), place+": ") || !strings.Contains(e.Error(), "ends a line for some readers") {
			t.Errorf("%q: %v, want %s", text, e, place)
		}
	}
	if _, err := policy.Load("p.yaml", []byte("version: 1\r\ndefault: deny\r\n# a\r\nrules:\r\n- {deny: t, args: {a: {is: \"x\\L\\r\"}}}\r\n")); err != nil {
		t.Error(err)
	}
}

func TestAPatternThatCanFitNoNameIsALoadError(t *testing.T) {
	for _, rule := range []string{`{deny: "dеlete_*"}`, `{ask: ["ok", "ｗrite"]}`, `{deny: "a:b"}`, `{allow: "caf?é"}`, `{deny: "*", except: {tools: "é"}}`, `{deny: "*", methods: "tools∕call"}`} {
		_, err := policy.Load("p.yaml", []byte("version: 1\ndefault: allow\nrules:\n- "+rule+"\n"))
		if err == nil || !strings.Contains(err.Error(), "p.yaml:4:") || !strings.Contains(err.Error(), "fits nothing: U+") {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if _, err := policy.Flags(nil, []string{"dеlete_*"}); err == nil {
		t.Error("--deny takes it")
	}
}

// FINDINGS L5.
func TestAPathThatBecomesAnotherInItsUsualFormIsUnclear(t *testing.T) {
	for _, path := range []string{"/srv/docs/．．/x", "/srv/docs/․․/x", "/srv/docs/‥/x", "/srv/docs/‥", "/srv/docs/.\u200b./x", "/srv/docs/a／..／..／x", "/srv/docs/．/x",
		"/srv/docs/a＼..＼..", "/srv/docs/％2e％2e/x", "/srv/docs/%EF%BC%8E%EF%BC%8E/x", "/srv/docs/℀/x", "/srv/docs/ ．． /x"} {
		for _, test := range []string{"under: /srv/docs", "glob: /srv/docs/**"} {
			for _, effect := range []string{"allow", "deny"} {
				d := load(t, "default: ask\nrules:\n- {"+effect+": t, args: {path: {"+test+"}}}\n").Decide(call(`{"path":"`+path+`"}`), nil)
				if r := d.Reasons[0]; r.Match != policy.Unclear {
					t.Errorf("%s: {%s} of %+q: %s (%s)", effect, test, path, r.Match, r.Why)
				}
			}
		}
	}
	for _, path := range []string{"C：/x", "Ｃ:/x", "～/x"} { // a drive, and a home directory, to some alone
		d := load(t, "default: ask\nrules:\n- {allow: t, args: {path: {glob: '*/x'}}}\n").Decide(call(`{"path":"`+path+`"}`), nil)
		if r := d.Reasons[0]; r.Match != policy.Unclear {
			t.Errorf("%+q: %s (%s)", path, r.Match, r.Why)
		}
	}
	for _, path := range []string{"/srv/docs/é.txt", "/srv/docs/日本語/．bashrc", "/srv/docs/more…", "/srv/docs/100％", "/srv/docs/a：b"} {
		if d := load(t, "default: ask\nrules:\n- {allow: t, args: {path: {under: /srv/docs}}}\n").Decide(call(`{"path":"`+path+`"}`), nil); d.Verdict != policy.Allow {
			t.Errorf("%s: %+v", path, d.Reasons)
		}
	}
}

// An object of many keys costs no more than its length.
func BenchmarkDecideManyKeys(b *testing.B) {
	p := load(b, "default: ask\nrules:\n- {allow: t, args: {path: {is: a}}}\n- {deny: t, args: {/x/y: {is: a}}}\n")
	for name, key := range map[string]string{"plain": "Key", "wide": "ké"} {
		var text strings.Builder
		text.WriteString(`{"path":"a"`)
		for i := range 30_000 {
			text.WriteString(`,"` + key + strings.Repeat("x", i%7) + strings.ToLower(string(rune('a'+i%26))) + itoa(i) + `":0`)
		}
		c := call(text.String() + "}")
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.Decide(c, nil)
			}
		})
	}
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + itoa(i%10)
}
