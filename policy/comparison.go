package policy

import "slices"

// A comparison is what is looked up of two policies to tell which of their rules stand
// in for which. Each rule is held against those alone that say the same of the same
// tool: all against all took seconds for a long file, while everybody waited.
type comparison struct {
	before, after *Policy
	was, is       lookup
	named         map[*rule]map[string]bool // the tools of a rule
	terms         map[[2]*Terms]bool        // whether the second are looser
	left          budget                    // as maxCompared; below 0 nothing stands in for anything
	limited       bool                      // a rule of after has a limit
}

// A lookup has the rules of a policy by what they say and by each tool that they name,
// and the denies that hold whatever a call says by that alone.
type lookup struct {
	alike map[likeness][]*rule
	wider map[likeness][]*rule // those that allow without a limit, by what they say but for their excepts
	flat  map[string][]*rule
}

type likeness struct{ said, tool string }

func newComparison(before, after *Policy) *comparison {
	return &comparison{before: before, after: after, was: before.lookup(), is: after.lookup(),
		named: map[*rule]map[string]bool{}, terms: map[[2]*Terms]bool{}, left: maxCompared,
		limited: slices.ContainsFunc(after.rules, func(r *rule) bool { return r.limit != nil })}
}

func (p *Policy) lookup() lookup {
	l := lookup{map[likeness][]*rule{}, map[likeness][]*rule{}, map[string][]*rule{}}
	for _, r := range p.rules {
		for _, tool := range r.tools {
			key := likeness{r.said, tool}
			l.alike[key] = append(l.alike[key], r)
			if r.effect == Allow && r.limit == nil {
				core := likeness{r.core, tool}
				l.wider[core] = append(l.wider[core], r)
			}
			if r.plain && r.effect == Deny {
				l.flat[tool] = append(l.flat[tool], r)
			}
		}
	}
	return l
}

// others are the rules that may stand in for r, of those that name all of its tools:
// as few as can be told from one tool.
func (l lookup) others(r *rule, flat bool) (alike, denies []*rule) {
	for i, tool := range r.tools {
		a, d := l.alike[likeness{r.said, tool}], l.flat[tool]
		if !flat {
			d = nil
		}
		if i == 0 || len(a)+len(d) < len(alike)+len(denies) {
			alike, denies = a, d
		}
	}
	return alike, denies
}

// within reports whether each tool that r names is named by o too.
func (c *comparison) within(r, o *rule) bool {
	named, known := c.named[o]
	if !known {
		named = map[string]bool{}
		for _, tool := range o.tools {
			named[tool] = true
		}
		c.named[o] = named
	}
	return c.left.spend(1+len(r.tools)) && !slices.ContainsFunc(r.tools, func(tool string) bool { return !named[tool] })
}

// looser is [looserTerms] as a yes or no.
func (c *comparison) looser(before, after *Terms) bool {
	pair := [2]*Terms{before, after}
	is, known := c.terms[pair]
	if !known {
		is = !c.left.spend(before.size()+after.size()) || len(looserTerms("", before, after)) > 0
		c.terms[pair] = is
	}
	return is
}

// size is about how much there is in terms to compare.
func (t *Terms) size() int {
	n := 20 + len(t.Of)
	if t.Delegate != nil {
		n += len(t.Delegate.To)
	}
	for _, e := range t.Edit {
		n += 5 + len(e.Enum)
	}
	return n
}

// anyOf reports whether one of the rules stands in for another, as far as there is work
// left to look at them.
func (c *comparison) anyOf(rules []*rule, stands func(*rule) bool) bool {
	for _, o := range rules {
		if stands(o) {
			return true
		}
		if c.left < 0 {
			return false
		}
	}
	return false
}

// hadAsLoose reports whether there was a rule that let through what r, of the policy
// after, does.
func (c *comparison) hadAsLoose(r *rule) bool {
	alike, _ := c.was.others(r, false)
	return c.anyOf(alike, func(o *rule) bool {
		return o.effect == r.effect && !(o.reason && !r.reason) && c.within(r, o) && !c.eases(o, r)
	}) || c.hadWider(r)
}

// hadWider reports whether r only allows what a rule before did, which had no more excepts.
// Where any rule has a limit that is not looked for: what one except costs to judge can
// leave no work for the conditions of a rule whose limit stopped the call (see rulings).
func (c *comparison) hadWider(r *rule) bool {
	if c.limited || r.effect != Allow {
		return false
	}
	return c.anyOf(c.was.wider[likeness{r.core, r.tools[0]}], func(o *rule) bool {
		return !(o.reason && !r.reason) && c.left.spend(1+len(o.excepts)*len(r.excepts)) && len(beyond(o.excepts, r.excepts)) == 0 && c.within(r, o)
	})
}

// eases reports whether after asks on easier terms than before, rules that say the same.
// The terms of a rule that never asks are nobody's.
func (c *comparison) eases(before, after *rule) bool {
	return after.mayAsk() && c.looser(c.before.termsOf(before), c.after.termsOf(after))
}

// hasAsStrict reports whether there is a rule that stops what r, of the policy before,
// did.
func (c *comparison) hasAsStrict(r *rule) bool {
	stands := func(o *rule) bool {
		switch {
		case o.effect > r.effect || r.reason && !o.reason && o.effect != Deny || !c.within(r, o):
			return false
		case r.limit != nil && o.name != r.name && o.effect != Deny: // it starts anew under another name; a deny lets nothing use it
			return false
		case o.plain && o.effect == Deny && r.aboutTools():
			return true
		}
		return o.said == r.said && !c.eases(r, o)
	}
	alike, denies := c.is.others(r, true)
	return c.anyOf(denies, stands) || c.anyOf(alike, stands)
}
