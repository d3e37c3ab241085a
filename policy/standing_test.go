package policy_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What a policy says of a caller's standing without a doubt, it says of each call of theirs.
func TestAStandingIsWhatEachCallGets(t *testing.T) {
	sure := map[policy.Verdict]int{}
	for seed := range uint64(rounds) {
		d := newDice(seed)
		text := file(d.fallback(), d.rules())
		p := load(t, text)
		for range 8 {
			c := d.call(d.args())
			c.Via = "request"
			v, depends := p.Standing(c)
			if depends {
				continue
			}
			sure[v]++
			for _, used := range []policy.Usage{nil, usage{1 << 20, 1 << 20}} {
				if got := p.Decide(c, used); got.Verdict != v {
					t.Fatalf("seed %d: %s stands as %s\n%s%s\n%s", seed, c.Tool, v, text, c.Args, policy.Explain(got, ""))
				}
			}
		}
	}
	if len(sure) < 3 {
		t.Errorf("without a doubt there was only %v", sure)
	}
}

func TestStandings(t *testing.T) {
	p := load(t, `
default: ask
rules:
- {allow: [read_*, add]}
- {allow: few, limit: {count: 3/hour}}
- {deny: 'read_*', args: {path: {glob: "**/.env"}}}
- {deny: drop}
- {allow: drop, from: boss}
- {allow: write, args: {path: {under: /tmp}}}
- {deny: odd, when: 'args.n == 1', except: [{from: [ann]}]}
- {allow: late, args: {x: {is: 1}}, except: [{from: [bob]}]}
`)
	for tool, want := range map[string]string{"add": "allow", "read_file": "depends", "few": "depends", "drop": "deny", "write": "depends", "else": "ask", "odd": "ask", "late": "depends"} {
		v, depends := p.Standing(policy.Call{From: "ann", Via: "request", Method: "tools/call", Tool: tool})
		got := v.String()
		if depends {
			got = "depends"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
	if v, depends := (*policy.Policy)(nil).Standing(policy.Call{}); v != policy.Deny || depends {
		t.Errorf("without a policy it is %s, %v", v, depends)
	}
}
