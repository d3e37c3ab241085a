package policy_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What a policy says of a caller's standing, it says of each call of theirs; but for those whose
// arguments a deny fits, of which there are some where it says so.
func TestAStandingIsWhatEachCallGets(t *testing.T) {
	met := map[policy.Standing]map[policy.Verdict]int{}
	for seed := range uint64(rounds) {
		d := newDice(seed)
		text := file(d.fallback(), d.rules())
		p := load(t, text)
		for range 8 {
			c := d.call(d.args())
			c.Via = "request"
			s := p.Standing(c)
			if s.Depends {
				continue
			}
			for _, used := range []policy.Usage{nil, usage{1 << 20, 1 << 20}} {
				got := p.Decide(c, used)
				if got.Verdict != s.Verdict && !(s.Refuses && got.Verdict == policy.Deny) {
					t.Fatalf("seed %d: %s stands as %v\n%s%s\n%s", seed, c.Tool, s, text, c.Args, policy.Explain(got, ""))
				}
				if met[s] == nil {
					met[s] = map[policy.Verdict]int{}
				}
				met[s][got.Verdict]++
			}
		}
	}
	if len(met) < 5 {
		t.Errorf("there was only %v", met)
	}
	for s, got := range met {
		if s.Refuses != (len(got) == 2) {
			t.Errorf("%v is said, and there was %v", s, got)
		}
	}
}

func TestStandings(t *testing.T) {
	p := load(t, `
default: ask
rules:
- {allow: [read_*, add]}
- {allow: few, limit: {count: 3/hour}}
- {deny: 'read_*', args: {path: {glob: "**/.env"}}}
- {deny: [add, drop], args: {"**": {glob: "**/.env"}}}
- {deny: drop}
- {allow: drop, from: boss}
- {allow: write, args: {path: {under: /tmp}}}
- {deny: odd, when: 'args.n == 1', except: [{from: [ann]}]}
- {deny: even, when: 'args.n == 2'}
- {deny: early, when: 'now.getHours() < 8'}
- {deny: having, when: 'has(args.id)'}
- {deny: sparing, except: [{args: {text: {is: seven}}}]}
- {deny: sparing2, args: {"**": {regex: ".+"}}, except: [{args: {text: {is: seven}}}]}
- {deny: anyword, args: {word: {regex: ".*"}}}
- {deny: anyname, args: {word: {glob: "*"}}}
- {deny: anypath, args: {path: {under: /}}}
- {deny: anytext, args: {word: {type: string}}}
- {deny: anynumber, args: {n: {type: number}}}
- {deny: allbut, args: {word: {not: seven}}}
- {deny: short, args: {word: {maxlen: 9}}}
- {deny: without, args: {list: {lacks: seven}}}
- {deny: seven, args: {n: {in: [7, seven]}}}
- {deny: holding, args: {list: {has: seven}}}
- {deny: etc, args: {path: {under: /etc}}}
- {deny: evil, args: {url: {host: "*.evil.example"}}}
- {deny: drops, args: {sql: {regex: "(?i)drop .*"}}, from: [ann]}
- {allow: late, args: {x: {is: 1}}, except: [{from: [bob]}]}
`)
	for tool, want := range map[string]string{"add": "allow*", "read_file": "allow*", "few": "depends", "drop": "deny", "write": "depends", "else": "ask", "odd": "ask", "even": "depends", "early": "depends", "late": "depends",
		"having": "depends", "sparing": "depends", "sparing2": "depends", "anyword": "depends", "anyname": "depends", "anypath": "depends", "anytext": "depends",
		"anynumber": "depends", "allbut": "depends", "short": "depends", "without": "depends",
		"seven": "ask*", "holding": "ask*", "etc": "ask*", "evil": "ask*", "drops": "ask*"} {
		s := p.Standing(policy.Call{From: "ann", Via: "request", Method: "tools/call", Tool: tool})
		got := s.Verdict.String()
		switch {
		case s.Depends:
			got = "depends"
		case s.Refuses:
			got += "*"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
	if s := (*policy.Policy)(nil).Standing(policy.Call{}); s.Verdict != policy.Deny || !s.Sure() {
		t.Errorf("without a policy it is %v", s)
	}
}
