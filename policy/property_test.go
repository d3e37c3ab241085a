package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

const rounds = 400

// A dice throws policies and calls that have much to do with each other.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 7))} }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

var argNames = []string{"a", "b", "/c/d", "/e/*"}

// argTest is a test of an argument that reads neither a boolean nor, being a
// boolean itself, anything else.
func (d dice) argTest() string {
	return d.one(`is: x`, `is: 5`, `in: [x, 5]`, `not: x`, `not: [y, 7]`, `under: /srv`, `glob: "**/x"`, `regex: "x|/srv/.*"`,
		`max: 5`, `min: 3`, `maxlen: 2`, `host: [a.com, "*.b.com"]`, `has: x`, `lacks: x`, `under: /srv, glob: "/srv/**"`)
}

func (d dice) conditions(in string) string {
	var c []string
	add := func(chance float64, text string) {
		if d.Float64() < chance {
			c = append(c, text)
		}
	}
	add(0.3, "from: ["+d.one("ann", "bob", "'*n'", "ops")+"]")
	add(0.2, "via: "+d.one("request", "proposal"))
	add(0.2, "hints: {readOnly: "+d.one("true", "false")+"}")
	add(0.2, `hours: "08:00-18:00 UTC"`)
	add(0.1, "until: 2026-06-01")
	add(0.2, "when: '"+d.one(`args.a == "x"`, `args.b > 3`, `caller == "ann"`, `has(args.c)`, `args.e.all(x, x == 5)`)+"'")
	if d.Float64() < 0.15 {
		c = append(c, `args: {"**": {`+d.one(`is: x`, `not: x`, `under: /srv`, `glob: "**/x"`, `regex: "x|/srv/.*"`, `maxlen: 2`, `host: a.com`, `has: x`, `lacks: x`)+`}}`)
	} else if d.Float64() < 0.7 {
		c = append(c, fmt.Sprintf("args: {%s: {%s}}", argNames[d.IntN(len(argNames))], d.argTest()))
	}
	if in == "except" && len(c) == 0 {
		c = append(c, "from: ann")
	}
	return strings.Join(c, ", ")
}

func (d dice) rule(effect string) string {
	r := effect + ": [" + d.one("t", "u", "'*'") + "]"
	if c := d.conditions("rule"); c != "" {
		r += ", " + c
	}
	if d.Float64() < 0.4 {
		r += ", except: {" + d.conditions("except") + "}"
	}
	if effect == "ask" && d.Float64() < 0.7 {
		r += ", as: " + d.one("one", "two", "three")
	}
	if effect == "allow" && d.Float64() < 0.3 {
		r += ", limit: {count: 2/day, over: " + d.one("ask", "deny") + "}"
	}
	if effect == "allow" && strings.Contains(r, "limit") && d.Float64() < 0.5 {
		r = strings.Replace(r, "count: 2/day", "sum: {arg: b, max: 9, window: day}", 1)
	}
	return "- {" + r + "}\n"
}

func (d dice) rules() []string {
	var rules []string
	for range d.IntN(6) {
		rules = append(rules, d.rule(d.one("allow", "ask", "deny")))
	}
	return rules
}

func (d dice) fallback() string { return d.one("allow", "ask", "deny") }

// file puts rules into a policy. Every rule is named by its own text, so that
// its place makes no difference.
func file(byDefault string, rules []string) string {
	text := "default: " + byDefault + `
approvers: {ops: [ann, bob]}
asks:
  one: {of: [ann, bob, eve], within: 10m, edit: {f: {arg: /a, enum: [x, y]}}}
  two: {of: [eve, ann, dan], need: 2, within: 1h, mode: sequential, edit: {f: {arg: /a, enum: [y, z]}}}
  three: {of: [eve, local], priority: high, remember: [once, folder, tool], folder: /a}
rules:
`
	if len(rules) == 0 {
		return strings.TrimSuffix(text, "rules:\n")
	}
	for i, r := range rules {
		text += strings.Replace(r, "{", fmt.Sprintf("{name: '%d%x', ", slices.Index(rules, r)-i, r), 1)
	}
	return text
}

// values that some of the tests take and some do not.
func (d dice) value() string {
	return d.one(`"x"`, `"y"`, `5`, `5.0`, `7`, `3`, `"/srv/x"`, `"/srv/../x"`, `"x/y"`, `"https://a.com/"`, `"https://c.b.com"`, `["x"]`, `[5,"x"]`, `{"x":1}`, `""`, `null`)
}

// args gives arguments by name, as JSON or "" for absent.
func (d dice) args() map[string]string {
	m := map[string]string{}
	for _, name := range argNames {
		if d.Float64() < 0.8 {
			m[name] = d.value()
		}
	}
	return m
}

func object(args map[string]string) []byte {
	var parts []string
	for name, v := range args {
		switch name {
		case "/c/d":
			parts = append(parts, `"c":{"d":`+v+`}`)
		case "/e/*":
			parts = append(parts, `"e":[`+v+`]`)
		default:
			parts = append(parts, `"`+name+`":`+v)
		}
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

func (d dice) call(args map[string]string) policy.Call {
	c := policy.Call{From: d.one("ann", "bob", "eve", "dan"), Via: d.one("request", "proposal"), Method: "tools/call", Tool: d.one("t", "u", "v"),
		Args: object(args), Now: time.Date(2026, 3, 2, 6+d.IntN(14), 0, 0, 0, time.UTC)}
	if d.Float64() < 0.5 {
		c.Hints.ReadOnly = new(d.Float64() < 0.5)
	}
	return c
}

// notLooser fails the test when b opens more than a: a laxer verdict, or an ask
// that is easier to agree to.
func notLooser(t *testing.T, a, b policy.Decision, what string, text string) bool {
	t.Helper()
	loose := b.Verdict > a.Verdict
	if a.Verdict == policy.Ask && b.Verdict == policy.Ask {
		loose = b.Ask.Need < a.Ask.Need || b.Ask.Within > a.Ask.Within || slices.ContainsFunc(b.Ask.Of, func(id string) bool { return !slices.Contains(a.Ask.Of, id) })
	}
	if loose {
		t.Errorf("%s loosened it\n%s\nbefore: %s%+v\nafter: %s%+v", what, text, policy.Explain(a, ""), a.Ask, policy.Explain(b, ""), b.Ask)
	}
	return !loose
}

// An argument that no test can read never opens anything that a readable one
// would not: for every rule the call with the unreadable argument is judged at
// least as strictly as with any readable value there. CEL takes part with what it
// cannot evaluate.
func TestErrorsOnlyTighten(t *testing.T) {
	for seed := range uint64(rounds) {
		d := newDice(seed)
		rules := d.rules()
		// Which asks merge may change with what matches; only verdicts are compared.
		text := file(d.fallback(), rules)
		p := load(t, text)
		args := d.args()
		name := argNames[d.IntN(len(argNames))]
		before := d.call(args)
		args[name] = "true"
		if strings.Contains(text, "has(args") || strings.Contains(text, "x == 5") || strings.Contains(text, `args.a == "x"`) {
			continue // CEL compares values of different types without an error
		}
		after := before
		after.Args = object(args)
		x, y := p.Decide(before, nil), p.Decide(after, nil)
		if y.Verdict > x.Verdict {
			t.Fatalf("seed %d: %s=true loosened it\n%s%s\n%s\n%s", seed, name, text, before.Args, policy.Explain(x, ""), policy.Explain(y, ""))
		}
		after.Args = []byte(`{"a"`)
		if y := p.Decide(after, nil); y.Verdict > x.Verdict {
			t.Fatalf("seed %d: broken arguments loosened it\n%s%s\n%s\n%s", seed, text, before.Args, policy.Explain(x, ""), policy.Explain(y, ""))
		}
	}
}

// One more ask or deny, whatever its conditions, opens nothing.
func TestAddingARuleThatTightensNeverLoosens(t *testing.T) {
	for seed := range uint64(rounds) {
		d := newDice(seed)
		rules, byDefault := d.rules(), d.one("allow", "deny") // a default ask has terms of its own
		more := append(slices.Clone(rules), d.rule(d.one("ask", "deny")))
		c := d.call(d.args())
		c.Via = "request"
		a, b := load(t, file(byDefault, rules)).Decide(c, nil), load(t, file(byDefault, more)).Decide(c, nil)
		if byDefault == "deny" && a.Rule == "" {
			continue // a default denial gives way to an ask, which is what an ask is for
		}
		if !notLooser(t, a, b, "one more rule", file(byDefault, more)) {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestOrderOfRulesNeverMatters(t *testing.T) {
	for seed := range uint64(rounds) {
		d := newDice(seed)
		rules := d.rules()
		slices.Sort(rules)
		rules = slices.Compact(rules)
		byDefault := d.fallback()
		c := d.call(d.args())
		a := load(t, ordered(byDefault, rules)).Decide(c, nil)
		d.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		b := load(t, ordered(byDefault, rules)).Decide(c, nil)
		if a.Verdict != b.Verdict || fmt.Sprintf("%+v", a.Ask) != fmt.Sprintf("%+v", b.Ask) || len(a.Limits) != len(b.Limits) {
			t.Fatalf("seed %d\n%s\n%s%+v\n%s%+v", seed, ordered(byDefault, rules), policy.Explain(a, ""), a.Ask, policy.Explain(b, ""), b.Ask)
		}
	}
}

// ordered is a file whose rules are named by what they say.
func ordered(byDefault string, rules []string) string {
	named := make([]string, len(rules))
	for i, r := range rules {
		named[i] = strings.Replace(r, "{", fmt.Sprintf("{name: n%x, ", r), 1)
	}
	text := strings.TrimSuffix(file(byDefault, nil), "\n")
	if len(named) > 0 {
		text += "\nrules:\n" + strings.Join(named, "")
	}
	return text + "\n"
}

// What the server says of itself opens nothing while it is not trusted.
func TestHintsNeverLoosen(t *testing.T) {
	for seed := range uint64(rounds) {
		d := newDice(seed)
		text := file(d.fallback(), d.rules())
		p := load(t, text)
		c := d.call(d.args())
		said := p.Decide(c, nil)
		c.Hints = policy.Hints{}
		if !notLooser(t, p.Decide(c, nil), said, "a hint", text) {
			t.Fatalf("seed %d", seed)
		}
	}
}

// The caller is never among those who may agree, nor among those it may be
// passed on to.
func TestTheCallerNeverDecides(t *testing.T) {
	for seed := range uint64(rounds) {
		d := newDice(seed)
		c := d.call(d.args())
		got := load(t, file("ask", d.rules())).Decide(c, nil)
		if got.Ask != nil && slices.Contains(got.Ask.Of, c.From) {
			t.Fatalf("seed %d: %+v", seed, got.Ask)
		}
		if (got.Ask != nil) != (got.Verdict == policy.Ask) {
			t.Fatalf("seed %d: %s with terms %v", seed, got, got.Ask)
		}
	}
}
