package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Whether one rule stands in for another was told by holding all against all.
func hadAsLooseByPairs(r *rule, before, after *Policy) bool {
	return slices.ContainsFunc(before.rules, func(o *rule) bool {
		return o.effect == r.effect && o.said == r.said && within(r.tools, o.tools) && len(looserTerms("", before.termsOf(o), after.termsOf(r))) == 0
	})
}

func hasAsStrictByPairs(r *rule, before, after *Policy) bool {
	return slices.ContainsFunc(after.rules, func(o *rule) bool {
		switch {
		case !within(r.tools, o.tools) || o.effect > r.effect:
			return false
		case r.limit != nil && o.name != r.name && o.effect != Deny:
			return false
		case o.plain && o.effect == Deny && r.aboutTools():
			return true
		}
		return o.said == r.said && (o.effect == Deny || len(looserTerms("", before.termsOf(r), after.termsOf(o))) == 0)
	})
}

func within(patterns, others globs) bool {
	return !slices.ContainsFunc(patterns, func(s string) bool { return !slices.Contains(others, s) })
}

func askedOtherwiseByPairs(r, o *rule, before, after *Policy) bool {
	tools, is, left := r.tools, after.byName(), budget(maxCompared)
	if o != nil && o.effect != Deny {
		tools = beyond(tools, o.tools)
	}
	if len(tools) == 0 || r.named && before.Default == Ask {
		return len(tools) > 0
	}
	for _, other := range before.rules {
		if other.mayAsk() && (r.named || other.named && is[other.name] == nil) && mayMeet(tools, other.tools, &left) {
			return true
		}
	}
	return false
}

// randomRules are few, so that many are nearly the same.
func randomRules(d *rand.Rand) string {
	one := func(of ...string) string { return of[d.IntN(len(of))] }
	var b strings.Builder
	for i := range 1 + d.IntN(6) {
		effect := one("allow", "ask", "deny")
		fmt.Fprintf(&b, "- {%s: [%s]", effect, one("a", "b", "a, b", "a, b, c", "'*'", "'a*'"))
		b.WriteString(one("", "", fmt.Sprintf(", name: %s%d", one("x", "y"), i)))
		b.WriteString(one("", "", ", from: ann", ", from: ops", ", via: request", `, args: {p: {is: x}}`, ", methods: [prompts/get]"))
		b.WriteString(one("", "", ", say: never"))
		switch {
		case effect == "ask":
			b.WriteString(one("", ", as: one", ", as: two", ", as: three"))
		case effect == "allow":
			b.WriteString(one("", "", ", limit: {count: 2/day}", ", limit: {count: 2/day, over: ask}, as: two"))
		}
		b.WriteString("}\n")
	}
	return "default: " + one("deny", "ask", "allow") + "\napprovers: {ops: [ann, bob]}\nasks:\n  one: {of: [ann, bob], within: 5m}\n  two: {of: [ann], within: 5m}\n  three: {of: [ann, bob, eve], within: 9m, delegate: {to: [dan]}, edit: {f: {arg: /p}}}\nrules:\n" + b.String()
}

func loadRandom(t *testing.T, d *rand.Rand) *Policy {
	for {
		text := randomRules(d)
		p, err := Load("p", []byte(text))
		if err == nil {
			return p
		}
		if !strings.Contains(err.Error(), "limit") && !strings.Contains(err.Error(), "ask") && !strings.Contains(err.Error(), "name") && !strings.Contains(err.Error(), "method") {
			t.Fatalf("%v\n%s", err, text)
		}
	}
}

// To look a rule up tells what all pairs tell.
func TestRulesThatStandInForOthersAreFoundByWhatTheySay(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	found := map[bool]int{}
	for range 3000 {
		before := loadRandom(t, d)
		after := loadRandom(t, d)
		if d.IntN(3) == 0 {
			after = before
		}
		c, was := newComparison(before, after), before.byName()
		for _, r := range after.rules {
			got, want := c.hadAsLoose(r), hadAsLooseByPairs(r, before, after)
			found[got]++
			if got != want {
				t.Fatalf("%s %s: found %v, by pairs %v", r.effect, r.tools, got, want)
			}
		}
		for _, r := range before.rules {
			got, want := c.hasAsStrict(r), hasAsStrictByPairs(r, before, after)
			found[got]++
			if got != want {
				t.Fatalf("%s %s: found %v, by pairs %v", r.effect, r.tools, got, want)
			}
		}
		told := strings.Join(reworded(before, after, map[*rule]bool{}), "\n")
		for _, r := range after.rules {
			o := was[r.name]
			want := r.mayAsk() && !(o != nil && o.say != r.say) && askedOtherwiseByPairs(r, o, before, after)
			if got := strings.Contains(told, r.title()+" asks under a name"); got != want {
				t.Fatalf("%s is told: %v, by pairs %v", r.title(), got, want)
			}
		}
	}
	if min(found[true], found[false]) < 1000 {
		t.Errorf("nothing to find: %v", found)
	}
}

// A long file that nobody has changed much is compared in work that grows as it does.
func TestALongPolicyHeldEverybodyUp(t *testing.T) {
	rules := func(n int, of func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("- {" + of(i) + "}\n")
		}
		return "default: deny\nasks: {one: {of: [ann], within: 5m}}\nrules:\n" + b.String()
	}
	load := func(text string) *Policy {
		p, err := Load("p", []byte(text))
		if err != nil {
			t.Fatal(err.Error()[:200])
		}
		return p
	}
	for what, of := range map[string]func(i int) string{
		"a tool each":               func(i int) string { return fmt.Sprintf("deny: t%d", i) },
		"of one tool":               func(i int) string { return fmt.Sprintf("deny: t, args: {a: {is: %d}}", i) },
		"one tool in all of them":   func(i int) string { return fmt.Sprintf("allow: [t, t%d]", i) },
		"asked, by names":           func(i int) string { return fmt.Sprintf("name: r%d, ask: t%d, as: one", i, i) },
		"a limit each, on one tool": func(i int) string { return fmt.Sprintf("name: r%d, allow: t%d, limit: {count: %d/day}", i, i, i+1) },
	} {
		const n = 4000
		before := load(rules(n, of))
		after := load(rules(n+1, of))
		c := newComparison(before, after)
		for _, r := range before.rules {
			if !c.hasAsStrict(r) || !c.hadAsLoose(r) {
				t.Fatalf("%s: %s is not found", what, r.title())
			}
		}
		if work := maxCompared - c.left; work > 100*n {
			t.Errorf("%s: it takes %d to compare %d rules", what, work, n)
		}
	}
	// What takes longer to find is told to be looser: every rule but the first is behind
	// all others of its tool.
	before := load(rules(2000, func(int) string { return "ask: t, as: one" }) + "- {ask: t}\n")
	after := load(rules(2000, func(int) string { return "ask: t" }))
	if c := newComparison(before, after); !c.hadAsLoose(after.rules[0]) {
		t.Error("the first of them is not found")
	}
	if len(Looser(before, after)) == 0 {
		t.Error("whatever it takes is looked at")
	}
}

// What a rule says is compared, and not kept: each that names a group had all its members,
// which was hundreds of megabytes for a file of 250 KB, and seconds.
func TestALongGroupWasKeptByEachRuleThatNamesIt(t *testing.T) {
	const rules = 1000
	load := func(members int) *Policy {
		var b strings.Builder
		b.WriteString("default: ask\napprovers: {ops: [ann")
		for i := range members {
			fmt.Fprintf(&b, ", member%d", i)
		}
		b.WriteString("]}\nrules:\n")
		for i := range rules {
			fmt.Fprintf(&b, "- {allow: t%d, from: ops}\n", i)
		}
		p, err := Load("p", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := load(2000)
	kept := 0
	for _, r := range p.rules {
		kept += len(r.said)
	}
	if kept > rules*maxSaid {
		t.Errorf("%d rules keep %d bytes of what they say", rules, kept)
	}
	if told := Looser(p, load(2000)); len(told) > 0 {
		t.Errorf("the same is looser: %.200q", told)
	}
	if told := Looser(p, load(2001)); len(told) != rules {
		t.Errorf("one more may call, and %d rules are told to be looser", len(told))
	}
}
