package policy

// Standing is what p says of calls like c as far as their caller, tool and time tell: the verdict
// that they get, or that it depends on what only a call says, on its arguments or on what is left
// of a limit. What c says of these is not looked at. Like Decide it is pure and total, and it
// costs less.
func (p *Policy) Standing(c Call) (v Verdict, depends bool) {
	if p == nil {
		return Deny, false
	}
	c.Args, c.Beside = nil, nil
	j, matched := p.judgement(&c), false
	var open []Verdict // what else it may come down to
	v = Allow
	for _, r := range p.rules {
		m := r.withoutArgs(j)
		switch m {
		case Yes:
			v, matched = min(v, r.effect), true
		case Unclear:
			open = append(open, r.effect)
		}
		if m != No && r.limit != nil {
			open = append(open, min(r.effect, r.limit.over))
		}
	}
	if !matched {
		v = p.fallback(c.Method)
	}
	for _, effect := range open {
		depends = depends || effect < v || !matched && effect > v
	}
	return v, depends
}

// withoutArgs reports whether a rule applies, as far as can be told without the arguments of a
// call; unclear where these decide.
func (r *rule) withoutArgs(j *judgement) Match {
	s := side(r.effect != Allow)
	m := r.where.withoutArgs(j, s)
	for _, c := range r.except {
		if m == No {
			break
		}
		switch c.withoutArgs(j, s.other()) {
		case Yes:
			m = No
		case Unclear:
			m = Unclear
		}
	}
	return m
}

func (c condition) withoutArgs(j *judgement, s side) Match {
	all := Yes
	for _, each := range c {
		m := Unclear
		switch each.(type) {
		case argument, *expression: // they look at arguments
		default:
			m, _ = each.holds(j, s)
		}
		if m == No {
			return No
		}
		if m == Unclear {
			all = Unclear
		}
	}
	return all
}

// Size is how many patterns of tools p has, by which the work for a Standing grows.
func (p *Policy) Size() (n int) {
	for _, r := range p.rules {
		n += 1 + len(r.tools)
	}
	return n
}
