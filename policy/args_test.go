package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func load(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("test.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// call is a request of agent for the tool t.
func call(args string) policy.Call {
	return policy.Call{From: "agent", Via: "request", Method: "tools/call", Tool: "t", Args: []byte(args)}
}

// judged gives what an allow and a deny make of a condition: their matches.
func judged(t *testing.T, condition string, c policy.Call) (loosening, tightening policy.Reason) {
	t.Helper()
	for _, effect := range []string{"allow", "deny"} {
		p := load(t, fmt.Sprintf("default: ask\nrules:\n- {%s: [t], %s}\n", effect, condition))
		d := p.Decide(c, nil)
		r := d.Reasons[0]
		if (d.Verdict == policy.Ask) == r.Applies {
			t.Errorf("%s: the verdict is %s, but the reason %+v", effect, d.Verdict, r)
		}
		if effect == "allow" {
			loosening = r
		} else {
			tightening = r
		}
	}
	if loosening.Applies != (loosening.Match == policy.Yes) {
		t.Errorf("an allow that is %s applies: %v", loosening.Match, loosening.Applies)
	}
	if tightening.Applies != (tightening.Match != policy.No) {
		t.Errorf("a deny that is %s applies: %v", tightening.Match, tightening.Applies)
	}
	return loosening, tightening
}

// Every test of args: what it makes of a value, on both sides.
func TestArguments(t *testing.T) {
	for _, c := range []struct {
		tests string // of argument x
		value string // JSON; "" is absent
		want  string // yes, no, unclear; "no/yes" is what an allow and a deny make of it where they differ
	}{
		{`is: prod`, `"prod"`, "yes"},
		{`is: prod`, `"pr\u006fd"`, "yes"},
		{`is: prod`, `"Prod"`, "no"},
		{`is: prod`, `5`, "unclear"},
		{`is: prod`, `["prod"]`, "unclear"},
		{`is: prod`, `null`, "unclear"},
		{`is: prod`, ``, "no"},
		{`is: 5`, `5`, "yes"},
		{`is: 5`, `5.0`, "yes"},
		{`is: 5`, `0.5e1`, "yes"},
		{`is: 5`, `"5"`, "unclear"},
		{`is: 9007199254740993`, `9007199254740993`, "yes"},
		{`is: 9007199254740993`, `9007199254740992`, "no"},
		{`is: 0.1`, `0.1000000000000000055511151231257827`, "no"},
		{`is: 5`, `1e401`, "unclear"},
		{`is: 5`, `1e99999999999999999999`, "unclear"},
		{`is: true`, `true`, "yes"},
		{`is: true`, `false`, "no"},
		{`is: true`, `"true"`, "unclear"},
		{`is: true`, `1`, "unclear"},
		{`is: "true"`, `"true"`, "yes"},
		{`is: null`, `null`, "yes"},
		{`is: null`, `5`, "no"},
		{`is: null`, ``, "no"},

		{`in: [a, b]`, `"b"`, "yes"},
		{`in: [a, b]`, `"c"`, "no"},
		{`in: [1, one]`, `1.0`, "yes"},
		{`in: [1, one]`, `2`, "no"},
		{`in: [1, one]`, `true`, "unclear"},
		{`in: [null, one]`, `null`, "yes"},
		{`in: [null, one]`, `2`, "unclear"},
		{`in: [a]`, ``, "no"},

		{`not: prod`, `"dev"`, "yes"},
		{`not: prod`, `"prod"`, "no"},
		{`not: prod`, `5`, "unclear"},
		{`not: [a, b]`, `"c"`, "yes"},
		{`not: [a, b]`, `"b"`, "no"},
		{`not: prod`, ``, "no/yes"},
		{`not: null`, `5`, "yes"},
		{`not: null`, `null`, "no"},

		{`max: 100`, `100`, "yes"},
		{`max: 100`, `100.0000000000000000000001`, "no"},
		{`max: 9007199254740992`, `9007199254740993`, "no"},
		{`max: 100`, `-1e300`, "yes"},
		{`max: 100`, `"5"`, "unclear"},
		{`max: 100`, ``, "no"},
		{`min: 0.5`, `0.5`, "yes"},
		{`min: 0.5`, `0.4999999999999999999999`, "no"},
		{`min: 1, max: 3`, `2`, "yes"},
		{`min: 1, max: 3`, `4`, "no"},
		{`min: 1, max: 3`, `true`, "unclear"},

		{`maxlen: 3`, `"äöü"`, "yes"},
		{`maxlen: 3`, `"äöüß"`, "no"},
		{`maxlen: 2`, `[1,2]`, "yes"},
		{`maxlen: 2`, `[1,2,3]`, "no"},
		{`maxlen: 1`, `{"a":1}`, "yes"},
		{`maxlen: 3`, `5`, "unclear"},
		{`maxlen: 3`, ``, "no"},

		{`regex: read`, `"read"`, "yes"},
		{`regex: read`, `"thread_delete"`, "no"},
		{`regex: "a|b"`, `"ab"`, "no"},
		{`regex: "a|b"`, `"b"`, "yes"},
		{`regex: "(?i)READ"`, `"read"`, "yes"},
		{`regex: [a, b]`, `"b"`, "yes"},
		{`regex: "echo .*"`, `"echo hi"`, "yes"},
		{`regex: "echo .*"`, `"echo hi\nrm -rf /"`, "no/yes"},
		{`regex: ".*rm -rf.*"`, `"cd /\nrm -rf /"`, "no/yes"},
		{`regex: "a$"`, `"a\n"`, "no"},
		{`regex: read`, `["read"]`, "unclear"},
		{`regex: read`, ``, "no"},

		{`has: a`, `["b","a"]`, "yes"},
		{`has: a`, `["b"]`, "no"},
		{`has: a`, `[]`, "no"},
		{`has: 1`, `[2,1.0]`, "yes"},
		{`has: 1`, `[2,1e999]`, "unclear"},
		{`has: a`, `[5]`, "no"},
		{`has: a`, `[["a"]]`, "unclear"},
		{`has: a`, `{"a":1}`, "yes"},
		{`has: a`, `{"b":"a"}`, "no"},
		{`has: 5`, `{"5":1}`, "unclear"},
		{`has: ell`, `"hello"`, "yes"},
		{`has: ELL`, `"hello"`, "no"},
		{`has: 5`, `"55"`, "unclear"},
		{`has: [x, ell]`, `"hello"`, "yes"},
		{`has: a`, `5`, "unclear"},
		{`has: a`, ``, "no"},
		{`lacks: a`, `["b"]`, "yes"},
		{`lacks: a`, `["a"]`, "no"},
		{`lacks: [a, b]`, `["b"]`, "no"},
		{`lacks: a`, `{"b":1}`, "yes"},
		{`lacks: a`, `5`, "unclear"},
		{`lacks: a`, ``, "no/yes"},

		{`type: string`, `"x"`, "yes"},
		{`type: string`, `5`, "no"},
		{`type: [string, null]`, `null`, "yes"},
		{`type: integer`, `5.0`, "yes"},
		{`type: integer`, `5.5`, "no"},
		{`type: integer`, `5e-1000`, "unclear"},
		{`type: integer`, `"5"`, "no"},
		{`type: number`, `5.5`, "yes"},
		{`type: array`, `[]`, "yes"},
		{`type: object`, `{}`, "yes"},
		{`type: boolean`, `true`, "yes"},
		{`type: absent`, ``, "yes"},
		{`type: absent`, `null`, "no"},
		{`type: [absent, string]`, ``, "yes"},
		{`type: string`, ``, "no"},

		{`not: a, maxlen: 3`, ``, "no"},
		{`not: a, lacks: b`, ``, "no/yes"},
		{`maxlen: 3, regex: "x+"`, `"xxxx"`, "no"},
		{`maxlen: 3, is: 5`, `"xx"`, "unclear"},
		{`is: 5, maxlen: 1`, `"xx"`, "no"},
		{`is: 5, max: 9`, `"xx"`, "unclear"},
	} {
		t.Run(c.tests+" "+c.value, func(t *testing.T) {
			args := `{}`
			if c.value != "" {
				args = `{"x":` + c.value + `}`
			}
			expect(t, "args: {x: {"+c.tests+"}}", call(args), c.want)
		})
	}
}

var matchNames = map[policy.Match]string{policy.No: "no", policy.Yes: "yes", policy.Unclear: "unclear"}

// expect compares both sides with "want" or "loosening/tightening".
func expect(t *testing.T, condition string, c policy.Call, want string) {
	t.Helper()
	loosening, tightening := judged(t, condition, c)
	first, second, differ := strings.Cut(want, "/")
	if !differ {
		second = first
	}
	if got := matchNames[loosening.Match]; got != first {
		t.Errorf("an allow says %s, want %s: %s", got, first, loosening.Why)
	}
	if got := matchNames[tightening.Match]; got != second {
		t.Errorf("a deny says %s, want %s: %s", got, second, tightening.Why)
	}
	if loosening.Why == "" || tightening.Why == "" {
		t.Error("no reason given")
	}
}

// Where an argument stands: names, pointers, stars.
func TestAddresses(t *testing.T) {
	for _, c := range []struct{ args, given, want string }{
		{`"a.b": {is: 1}`, `{"a.b":1}`, "yes"},
		{`"a.b": {is: 1}`, `{"a":{"b":1}}`, "no"},
		{`"/a/b": {is: 1}`, `{"a":{"b":1}}`, "yes"},
		{`"/a/b": {is: 1}`, `{"a":{}}`, "no"},
		{`"/a/b": {is: 1}`, `{}`, "no"},
		{`"/a/b": {is: 1}`, `{"a":"x"}`, "unclear"},
		{`"/a/b": {is: 1}`, `{"a":null}`, "unclear"},
		{`"/a~1b/c~0d": {is: 1}`, `{"a/b":{"c~d":1}}`, "yes"},
		{`"/a/1": {is: 1}`, `{"a":[0,1]}`, "yes"},
		{`"/a/2": {is: 1}`, `{"a":[0,1]}`, "no"},
		{`"/a/x": {is: 1}`, `{"a":[0,1]}`, "unclear"},
		{`"/a/*": {is: 1}`, `{"a":[1,1]}`, "yes"},
		{`"/a/*": {is: 1}`, `{"a":[1,2]}`, "no/yes"},
		{`"/a/*": {is: 1}`, `{"a":[1,"x"]}`, "unclear/yes"},
		{`"/a/*": {is: 1}`, `{"a":[2,"x"]}`, "no/unclear"},
		{`"/a/*": {is: 1}`, `{"a":[2,3]}`, "no"},
		{`"/a/*": {is: 1}`, `{"a":[]}`, "no"},
		{`"/a/*": {is: 1}`, `{"a":{}}`, "no"},
		{`"/a/*": {type: absent}`, `{"a":[]}`, "yes"},
		{`"/a/*": {is: 1}`, `{"a":{"x":1,"y":1}}`, "yes"},
		{`"/a/*": {is: 1}`, `{"a":"x"}`, "unclear"},
		{`"/a/*/b": {is: 1}`, `{"a":[{"b":1},{"b":1}]}`, "yes"},
		{`"/a/*/b": {is: 1}`, `{"a":[{"b":1},{}]}`, "no/yes"},
		{`"/a/*/b": {is: 1}`, `{"a":[{"b":1},7]}`, "unclear"},
		{`"/a/*/b": {min: 1, max: 2}`, `{"a":[{"b":0},{"b":3}]}`, "no"},
		{`a: {is: 1}, b: {is: 2}`, `{"a":1,"b":2}`, "yes"},
		{`a: {is: 1}, b: {is: 2}`, `{"a":1,"b":3}`, "no"},
		{`a: {is: 1}, b: {is: 2}`, `{"a":"x","b":2}`, "unclear"},
		{`a: {is: 1}, b: {is: 2}`, `{"a":"x","b":3}`, "no"},
		{`a: {is: 1}`, ``, "no"},
		{`a: {is: 1}`, `{"a":1}x`, "unclear"},
		{`a: {is: 1}`, `[1]`, "unclear"},
		{`a: {is: 1}`, `{"a":1,"a":2}`, "unclear"},
		{`a: {is: 1}`, `{"a":1,"\u0061":2}`, "unclear"},
		{`a: {is: 1}`, `{"a":1`, "unclear"},
	} {
		t.Run(c.args+" "+c.given, func(t *testing.T) {
			expect(t, "args: {"+c.args+"}", call(c.given), c.want)
		})
	}
}

// What cannot be read strictly is an error in every rule that looks at it.
func TestBrokenArguments(t *testing.T) {
	for _, bad := range []string{
		`{`, `{"x"`, `{"x":`, `{"x":1`, `{"x":1,`, `{x:1}`, `{"x" 1}`, `{"x":1 "y":2}`, `{"x":[1}`, `{"x":[1,`, `{"x":tru}`, `{"x":01}`,
		`{"x":-}`, `{"x":1.}`, `{"x":+1}`, `{"x":NaN}`, `{"x":"a`, "{\"x\":\"a\nb\"}", `{"x":"\q"}`, `{"x":"\u12"}`, `{"x":"\u12g4"}`, `{"x":"\ud800"}`,
		`{"x":"\ud800x"}`, `{"x":"\ud800\n"}`, `{"x":"\udc00\ud800"}`, `{"x":"\ud800\u0041"}`, "{\"x\":\"\xff\"}", `{"x":1}{}`, `null`, `"x"`, `5`, ` `, "{\"x\":\"\u0000\"}", `{"\q":1}`,
		`{"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`,
		`{"x":[` + strings.Repeat("0,", 200_000) + `0]}`,
	} {
		expect(t, "args: {x: {type: absent}}", call(bad), "unclear")
		expect(t, `when: "!has(args.x)"`, call(bad), "unclear")
	}
	for _, good := range []string{``, `{}`, " {\t\r\n} ", `{"y":"\"\\\/\b\f\n\r\té\ud83d\ude00"}`, `{"y":[true,false,null,{},-0.5E+3]}`} {
		expect(t, "args: {x: {type: absent}}", call(good), "yes")
	}
	expect(t, `args: {x: {is: "\"/\b\f\n\r\té\U0001F600A\\"}}`, call(`{"x":"\"\/\b\f\n\r\t\u00E9\ud83D\ude00\u0041\\"}`), "yes")
}

// ** is every string of the arguments: one is enough where it tightens, all have to
// pass where it loosens, and where there is none it is absent.
func TestEveryStringOfTheArguments(t *testing.T) {
	for _, c := range []struct{ test, args, loosens, tightens string }{
		{`glob: "**/.env"`, `{"source":"/srv/.env","destination":"/srv/x"}`, "no", "yes"},
		{`glob: "**/.env"`, `{"paths":["/srv/a",{"deep":["/srv/.env"]}]}`, "no", "yes"},
		{`under: /srv`, `{"paths":["/srv/a","/srv/b"],"n":5}`, "yes", "yes"},
		{`under: /srv`, `{"paths":["/srv/a","/etc/b"]}`, "no", "yes"},
		{`under: /srv`, `{"paths":["/srv/a","b"]}`, "unclear", "yes"},
		{`under: /srv`, `{"paths":["/etc/a","b"]}`, "no", "unclear"},
		{`under: /srv`, `{"n":5,"l":[],"/srv/a":true}`, "no", "no"},
		{`not: x`, `{}`, "no", "yes"},
		{`lacks: x`, `{"a":"x","b":"y"}`, "no", "yes"},
		{`regex: ".*x"`, `{"a":"x","b":"yx"}`, "yes", "yes"},
		{`has: secret`, `{"a":{"b":"a secret"}}`, "yes", "yes"},
		{`maxlen: 3`, `{"a":"abcd","b":"a"}`, "no", "yes"},
		{`host: a.example`, `{"a":"https://a.example/","b":["https://b.example"]}`, "no", "yes"},
		{`is: x`, `{"a":"` + strings.Repeat("x", 300) + `"}`, "no", "no"},
	} {
		loosening, tightening := judged(t, `args: {"**": {`+c.test+`}}`, call(c.args))
		for side, got := range map[string]struct {
			got  policy.Match
			want string
		}{"loosens": {loosening.Match, c.loosens}, "tightens": {tightening.Match, c.tightens}} {
			if word := map[policy.Match]string{policy.No: "no", policy.Yes: "yes", policy.Unclear: "unclear"}[got.got]; word != got.want {
				t.Errorf("%s of %s: %s: %s, want %s", c.test, c.args, side, word, got.want)
			}
		}
	}
	_, why := judged(t, `args: {"**": {glob: "**/.env"}}`, call(`{"paths":["/srv/a",{"deep":["/srv/.env"]}]}`))
	if !strings.Contains(why.Why, `args /paths/1/deep/0 "/srv/.env" glob **/.env: yes`) {
		t.Error(why.Why)
	}
	for _, bad := range []string{`"**": {max: 5}`, `"**": {type: string}`, `"/a/**": {is: x}`} {
		if _, err := policy.Load("p", []byte("default: ask\nrules:\n- {deny: t, args: {"+bad+"}}")); err == nil {
			t.Errorf("%s loads", bad)
		}
	}
}
