package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// Whoever saved a long file, or had a server list many tools, held everybody up for
// seconds while it was looked through for what is hardly meant (FINDINGS M3). What was
// not looked at is not warned of, least of all as if it had been.
func TestWarningsOfALongPolicyHeldEverybodyUp(t *testing.T) {
	tools := []Tool{{Name: "t", InputSchema: []byte(`{"properties":{"b":{"type":"string"}}}`)}, {Name: "u"}}
	for what, of := range map[string]func(i int) string{
		"asked of one tool": func(i int) string {
			return fmt.Sprintf("ask: [t, 't*', 'u%d'], as: %s", i, []string{"one", "two"}[i%2])
		},
		"denied by argument": func(i int) string { return fmt.Sprintf("deny: t, args: {a%d: {is: %d}}", i, i) },
		"flat":               func(i int) string { return fmt.Sprintf("%s: t%d", []string{"deny", "allow"}[i%2], i) },
		"of no tool":         func(i int) string { return fmt.Sprintf("allow: v%d", i) },
	} {
		load := func(n int) *Policy {
			var b strings.Builder
			for i := range n {
				b.WriteString("- {" + of(i) + "}\n")
			}
			p, err := Load("p", []byte("default: deny\nasks: {one: {of: [ann], within: 5m}, two: {of: [ann, bob], within: 5m}}\nrules:\n"+b.String()))
			if err != nil {
				t.Fatal(err.Error()[:200])
			}
			return p
		}
		// A short one is looked through whole.
		p := load(40)
		unreached, others := p.Doubts(tools)
		if got, want := append(others, unreached...), p.Warnings(tools); !slices.Equal(got, want) {
			t.Errorf("%s: doubts %q, warnings %q", what, got, want)
		}
		if !slices.Equal(unreached, p.scrutiny(tools, math.MaxInt).unreached()) {
			t.Errorf("%s: unreached %q", what, unreached)
		}

		// Of a long one not all is, and everybody hears of it.
		if _, others := load(3000).Doubts(tools); len(others) == 0 || !strings.Contains(others[0], "too many rules") {
			t.Errorf("%s: nobody hears that not all was looked at: %.300q", what, others)
		}
		// Wherever the looking ends, what is told is so.
		p = load(12)
		so := map[string]bool{}
		for _, w := range p.Warnings(tools) {
			so[w] = true
		}
		for most, short := budget(1), true; short; most++ {
			s := p.scrutiny(tools, most)
			told := append(s.unreached(), s.warnings()...)
			if short = s.left < 0; !short && most < 100 {
				t.Errorf("%s: all was looked at within %d", what, most)
			}
			for _, w := range told {
				if !so[w] {
					t.Errorf("%s, within %d: %.300q is not so", what, most, w)
				}
			}
		}
	}
}
