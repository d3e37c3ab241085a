package policy

import (
	"fmt"
	"slices"
)

// Default is the policy where there is no file: every call is put to the
// person at this machine.
func Default() *Policy {
	return &Policy{
		Default:   Ask,
		Proposals: Proposals{Fulfil: "ask", RejectUntargeted: "auto"},
		Server:    Server{Pin: "ask"},
		redact:    usualSecrets,
		source:    []byte("default"),
	}
}

// Flags is what --allow and --deny stand for: the default policy with one rule
// more for each pattern of tools, named like the flag. What none of them names
// is asked.
func Flags(allow, deny []string) (*Policy, error) {
	p := Default()
	for _, f := range []struct {
		effect   Verdict
		patterns []string
	}{{Deny, deny}, {Allow, allow}} {
		for _, pattern := range f.patterns {
			name := "--" + f.effect.String() + " " + pattern
			if err := checkGlob(pattern); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			g := globs{pattern}
			p.rules = append(p.rules, &rule{name: name, effect: f.effect, tools: g, plain: true,
				where: condition{methodClause{}, newToolClause(g)}})
			p.source = fmt.Appendf(p.source, "%q\n", name)
		}
	}
	return p, nil
}

// With is p with the rules and tests of other added. All else, the default
// too, stays p's. A rule of other whose name is taken gets a number.
func (p *Policy) With(other *Policy) *Policy {
	q := *p
	q.rules = slices.Clip(p.rules)
	names := taken{}
	for _, r := range p.rules {
		names.take(r.name)
	}
	for _, r := range other.rules {
		named := *r
		named.name = names.free(r.name)
		names.take(named.name)
		if named.terms == nil {
			named.terms = other.terms
		}
		q.rules = append(q.rules, &named)
	}
	q.channels = append(slices.Clip(p.channels), other.channels...)
	q.tests = append(slices.Clip(p.tests), other.tests...)
	q.warnings = append(slices.Clip(p.warnings), other.warnings...)
	q.source = fmt.Appendf(nil, "%s with %s", p.Hash(), other.Hash())
	return &q
}
