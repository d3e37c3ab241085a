package policy

import (
	"cmp"
	"fmt"
	"slices"
)

// Decide is pure and total: the same call, usage and policy give the same
// decision, and there is one for every call. A nil Usage means that nothing was
// used yet.
func (p *Policy) Decide(c Call, used Usage) Decision {
	d := Decision{From: c.From, Via: c.Via, Method: c.Method, Tool: c.Tool}
	if p == nil {
		return d
	}
	if used == nil {
		used = unused{}
	}
	rulings := p.rulings(p.judgement(&c), used)
	d.Reasons = make([]Reason, len(p.rules))
	for i := range rulings {
		d.Reasons[i] = rulings[i].Reason
	}
	d.settle(p, rulings, c.Method)
	d.justified(c.Why)
	d.besides(p, c.Beside)
	if c.Via == "proposal" && d.Verdict == Allow && p.Proposals.Fulfil == "ask" {
		d.raise(p, Ask, "proposals.fulfil", "a proposal is fulfilled only when somebody agrees (fulfil: ask)")
	}
	if d.Ask != nil {
		d.Ask = d.Ask.without(c.From)
	}
	return d
}

// rulings are what each rule makes of the call. Where the work for them is more
// than there may be, whatever costs any is unclear, to all rules alike: which of
// them came first must not matter.
func (p *Policy) rulings(j *judgement, used Usage) []ruling {
	all := make([]ruling, len(p.rules))
	for i := 0; i < len(all); i++ {
		before := j.spent
		all[i] = p.rules[i].judge(j, used)
		if j.spent && !before {
			i = -1
		}
	}
	return all
}

// settle takes the strictest of what applies. The default stands where no rule
// matches for certain: what is only unclear may tighten it, but never stand in
// for it.
func (d *Decision) settle(p *Policy, rulings []ruling, method string) {
	rulings = slices.DeleteFunc(rulings, func(r ruling) bool { return !r.Applies })
	d.Verdict = Allow
	if !slices.ContainsFunc(rulings, func(r ruling) bool { return r.Match == Yes }) {
		d.Verdict = p.fallback(method)
	}
	byDefault := d.Verdict == Ask
	for _, r := range rulings {
		d.Verdict = min(d.Verdict, r.Effect)
	}
	var asks []*Terms
	for _, r := range rulings {
		if r.rule.reason {
			d.Unexplained = cmp.Or(d.Unexplained, r.rule.name)
		}
		if d.Verdict != Deny && r.rule.limit != nil {
			d.Limits = append(d.Limits, r.takes)
		}
		if r.Effect != d.Verdict {
			continue
		}
		if d.Rule == "" {
			d.Rule, d.Line = r.rule.name, r.rule.line
		}
		d.Say = cmp.Or(d.Say, r.rule.say)
		if d.Verdict == Ask {
			asks = append(asks, r.asks(p))
		}
	}
	if byDefault && asks != nil { // the terms of what is only unclear do not stand in for the default's either
		asks = append(asks, p.defaultTerms())
	}
	switch {
	case d.Verdict == Ask && asks == nil:
		d.Ask = p.defaultTerms()
	case d.Verdict == Ask:
		d.Ask = mergeTerms(asks)
	}
}

// justified turns away a call that does not say why, where a rule that takes part wants to know.
func (d *Decision) justified(why string) {
	rule := d.Unexplained
	if d.Unexplained = ""; rule == "" || why != "" || d.Verdict == Deny {
		return
	}
	r := &d.Reasons[slices.IndexFunc(d.Reasons, func(r Reason) bool { return r.Rule == rule })]
	r.Effect, r.Why = Deny, "the call does not say why (justification: required)"
	d.Verdict, d.Rule, d.Line, d.Say, d.Ask, d.Limits, d.Unexplained = Deny, rule, r.Line, "", nil, nil, rule
}

func (p *Policy) fallback(method string) Verdict {
	if Passes(method) {
		return Allow
	}
	return p.Default
}

// asks are the terms of a rule that has come down to ask.
func (r ruling) asks(p *Policy) *Terms {
	terms := *p.termsOf(r.rule)
	terms.Rules = []string{r.rule.name}
	return &terms
}

// Pinned makes of a decision about a call what server.pin says where the tool is
// not any more what it was at first. What the rules deny they go on denying, in their
// own words.
func (p *Policy) Pinned(d Decision) Decision {
	const name, why = "server.pin", "the server has changed the definition of this tool"
	switch {
	case p.Server.Pin == "block" && d.Verdict != Deny:
		d.raise(p, Deny, name, why)
	case p.Server.Pin == "ask" && d.Verdict == Allow:
		d.raise(p, Ask, name, why)
	}
	return d
}

// Passes reports whether a method is let through unless a rule names it: those
// that list what a server offers, and those that the bridge answers itself. All that
// gives away content, tasks of others included, is judged (DESIGN 14, FINDINGS H2).
func Passes(method string) bool { return slices.Contains(passing, method) }

var passing = []string{
	"tools/list", "resources/list", "resources/templates/list", "prompts/list",
	"initialize", "ping", "server/discover",
}

// methodsOfMCP are those that rules can be about, and the one that is ours.
var methodsOfMCP = append([]string{toolsCall, promptsGet, "completion/complete", "logging/setLevel", "subscriptions/listen",
	"resources/read", "resources/subscribe", "resources/unsubscribe",
	"tasks/list", "tasks/get", "tasks/result", "tasks/cancel", "tasks/update", "mcpx/plan"}, passing...)

// A ruling is what a rule made of one call.
type ruling struct {
	rule *rule
	Reason
	takes Reservation // when it applies and has a limit
}

func (r *rule) judge(j *judgement, used Usage) ruling {
	v := ruling{rule: r, Reason: Reason{Rule: r.name, Line: r.line, Effect: r.effect}}
	s := side(r.effect != Allow)
	v.Match, v.Why = r.where.holds(j, s)
	v.Applies = s.takes(v.Match)
	if v.Applies {
		v.excepted(j, s.other())
	}
	if v.Applies && r.limit != nil {
		var over string
		if over, v.takes = r.limit.check(j, r.name, used); over != "" {
			v.Effect, v.Why, v.Over = min(v.Effect, r.limit.over), over, true
		}
	}
	return v
}

// excepted looks for an except that takes the rule away.
func (v *ruling) excepted(j *judgement, s side) {
	for _, c := range v.rule.except {
		m, why := c.holds(j, s)
		if s.takes(m) {
			v.Applies, v.Match, v.Why = false, No, "except: "+why
			return
		}
		if m == Unclear {
			v.Match, v.Why = Unclear, fmt.Sprintf("%s; its except does not count: %s", v.Why, why)
		}
	}
}

func (p *Policy) judgement(c *Call) *judgement {
	return &judgement{Call: c, redact: &p.redact, trustHints: p.Server.TrustHints, facts: c.Hints.facts(p.Server.TrustHints), left: maxWork}
}
