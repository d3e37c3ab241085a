package policy

import "slices"

// Opens are the rules that allow or ask about calls on a path, by a test under that
// it lies below. Whoever may write there may change what the file at path says.
// tools are the server's, nil if they are not known: a rule none of whose tools
// says that it writes is left out.
func (p *Policy) Opens(path string, tools []Tool) []string {
	var all []string
	for _, r := range p.rules {
		if r.effect != Deny && r.aboutTools() && r.mayWrite(tools) && p.below(r, path) {
			all = append(all, r.title())
		}
	}
	return all
}

func (p *Policy) below(r *rule, path string) bool {
	v := &value{kind: isString, text: path}
	return slices.ContainsFunc(r.where, func(c clause) bool {
		a, ok := c.(argument)
		return ok && slices.ContainsFunc(a.tests, func(t test) bool {
			return slices.ContainsFunc(t.under, func(d directory) bool {
				m, _ := d.holds(p.judgement(&Call{}), v, loosens)
				return m == Yes
			})
		})
	})
}

// mayWrite reports whether a rule fits a tool that does not say that it only reads.
// The tool's word is good enough for a warning.
func (r *rule) mayWrite(tools []Tool) bool {
	return len(tools) == 0 || slices.ContainsFunc(tools, func(t Tool) bool {
		_, fits := r.tools.match(t.Name)
		return fits && (t.Hints.ReadOnly == nil || !*t.Hints.ReadOnly)
	})
}
