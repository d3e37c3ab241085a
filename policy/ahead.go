package policy

import "slices"

// Foresee decides about calls to come as one: what a rule may deny of any of them is
// denied, and whoever any of them may be asked of is asked, by the strictest terms of all.
// That they are all allowed is an ask all the same, in the terms of the default. There must
// be at least one call. Each is still to be decided about when it is made: what is left of a
// limit by then is not foreseen.
func (p *Policy) Foresee(calls []Call, used Usage) Decision {
	var all Decision
	var asks []*Terms
	for _, c := range calls {
		c.Ahead = true
		all = p.Decide(c, used)
		switch {
		case all.Verdict == Deny:
			return all
		case all.Ask != nil:
			asks = append(asks, all.Ask)
		}
	}
	if asks == nil {
		asks = []*Terms{p.defaultTerms().without(calls[0].From)}
	}
	all.Verdict, all.Ask, all.Limits, all.Say = Ask, mergeTerms(asks), nil, ""
	return all
}

// Why is what decided, in words that show no hidden value; "" where no rule did.
func (d Decision) Why() string {
	i := slices.IndexFunc(d.Reasons, func(r Reason) bool { return r.Applies && r.Effect == d.Verdict })
	if i < 0 {
		return ""
	}
	return d.Reasons[i].Why
}
