package policy

import "slices"

// A Standing is what a policy says of a caller's calls of a tool, before there is one.
type Standing struct {
	Verdict Verdict // what they get, but for those that are refused for their arguments
	Refuses bool    // a deny names values of an argument, and refuses calls that have them
	Depends bool    // others may get another verdict too, by their arguments or what is left of a limit
}

// Sure reports whether each call gets the verdict.
func (s Standing) Sure() bool { return !s.Refuses && !s.Depends }

// Standing is what p says of calls like c as far as their caller, tool and time tell. What c says
// of arguments is not looked at. Like Decide it is pure and total, and it costs less.
func (p *Policy) Standing(c Call) Standing {
	if p == nil {
		return Standing{Verdict: Deny}
	}
	c.Args, c.Beside = nil, nil
	j, matched := p.judgement(&c), false
	var open []Verdict // what else it may come down to
	s := Standing{Verdict: Allow}
	for _, r := range p.rules {
		m := r.withoutArgs(j)
		switch {
		case m == Yes:
			s.Verdict, matched = min(s.Verdict, r.effect), true
		case m == Unclear && r.effect == Deny && r.refusesFew(j):
			s.Refuses = true
		case m == Unclear:
			open = append(open, r.effect)
		}
		if m != No && r.limit != nil {
			open = append(open, min(r.effect, r.limit.over))
		}
	}
	if !matched {
		s.Verdict = p.fallback(c.Method)
	}
	for _, effect := range open {
		s.Depends = s.Depends || effect < s.Verdict || !matched && effect > s.Verdict
	}
	s.Refuses = s.Refuses && (s.Verdict != Deny || s.Depends)
	return s
}

// refusesFew reports whether a rule that is unclear without arguments applies to no more than
// calls that have values which it names: some argument has to have them, and nothing but
// arguments decides.
func (r *rule) refusesFew(j *judgement) bool {
	isExpression := func(each clause) bool { _, is := each.(*expression); return is }
	looksAtArgs := func(each clause) bool { _, is := each.(argument); return is || isExpression(each) }
	for _, c := range r.except {
		if slices.ContainsFunc(c, looksAtArgs) {
			return false
		}
	}
	return !slices.ContainsFunc(r.where, isExpression) && slices.ContainsFunc(r.where, func(each clause) bool {
		a, is := each.(argument)
		return is && slices.ContainsFunc(a.tests, func(t test) bool { return t.fitsFew(j) })
	})
}

// strangers are values that no rule is likely to name.
var strangers = []value{
	{kind: isString, text: "none-such"}, {kind: isString, text: "/none/such"}, {kind: isString, text: "https://none.invalid/such"}, {kind: isArray},
}

// fitsFew reports whether a test fits nothing but what it names: it fits no stranger, and refuses one.
func (t test) fitsFew(j *judgement) bool {
	refuses := false
	for i := range strangers {
		switch m, _ := t.of(j, &strangers[i], tightens); m {
		case Yes:
			return false
		case No:
			refuses = true
		}
	}
	return refuses && !t.ofType
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
			m = matchIf(s.takes(m)) // no argument makes it clearer
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
