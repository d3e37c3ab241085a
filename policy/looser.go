package policy

import (
	"fmt"
	"slices"
)

// Looser says in words what after may let through that before does not. It
// compares what the two say, not what they make of some calls: where that does not
// tell which is the looser one, or would take too long to tell, after is. Nothing means that no call fares better
// under after, and that nobody is shown less or other words than they would have been:
// what is hidden besides (redact), and the words of rules, see reworded.
func Looser(before, after *Policy) []string {
	var all []string
	add := func(looser bool, format string, a ...any) {
		if looser {
			all = append(all, fmt.Sprintf(format, a...))
		}
	}
	add(after.Default > before.Default, "the default is %s, and was %s", after.Default, before.Default)
	c := newComparison(before, after)
	told := map[*rule]bool{} // with its name and its words
	for _, r := range after.rules {
		told[r] = r.opens(after) && !c.hadAsLoose(r)
		add(told[r], "%s is new or changed, and lets calls through: %s %s%s", r.title(), r.effect, r.tools, r.words())
	}
	for _, r := range after.rules { // a rule that asks stands in for the default, and so for whom that would ask
		eased := r.effect == Ask && !r.opens(after) && c.looser(before.defaultTerms(), after.termsOf(r))
		eased = eased && !c.hadAsLoose(r)
		told[r] = told[r] || eased
		add(eased, "%s is new or changed, and asks on easier terms than the default did: %s %s%s", r.title(), r.effect, r.tools, r.words())
	}
	all = append(all, reworded(before, after, told)...)
	// Where nothing is let through, nothing has to be held back.
	shut := after.Default == Deny && !slices.ContainsFunc(after.rules, func(r *rule) bool { return r.effect != Deny })
	for _, r := range before.rules {
		add(r.closes() && !(shut && r.aboutTools()) && !c.hasAsStrict(r), "%s is gone or changed, and held calls back: %s %s", r.title(), r.effect, r.tools)
	}
	if after.asksByDefault() {
		all = append(all, looserTerms("the default", before.defaultTerms(), after.defaultTerms())...)
	}
	fulfil := []string{"never", "ask", "policy"}
	was, is := before.Proposals, after.Proposals
	add(slices.Index(fulfil, is.Fulfil) > slices.Index(fulfil, was.Fulfil), "proposals: fulfil is %s, and was %s", is.Fulfil, was.Fulfil)
	add(is.Broadcast && !was.Broadcast, "proposals: broadcast is true now")
	pins := []string{"block", "ask", "warn", "off"}
	add(slices.Index(pins, after.Server.Pin) > slices.Index(pins, before.Server.Pin), "server: pin is %s, and was %s", after.Server.Pin, before.Server.Pin)
	add(after.Server.TrustHints && !before.Server.TrustHints, "server: trust_hints is true now")
	for _, member := range beyond(after.Server.Pass, before.Server.Pass) {
		add(true, "server: pass lists %s now", member)
	}
	for _, hidden := range beyond(before.redact.patterns(), after.redact.patterns()) {
		add(true, "redact does not hide %s any more", hidden)
	}
	for _, hidden := range beyond(after.redact.patterns(), before.redact.patterns()) {
		add(true, "redact hides %s too: people are asked about what they cannot see then, and the record does not have it", hidden)
	}
	return all
}

// asksByDefault reports whether calls that no rule asks about may be asked about:
// by the default, or, of what is allowed, proposals, tools that have changed and
// what stands beside the arguments. Rules that ask are compared each by itself.
func (p *Policy) asksByDefault() bool {
	return p.Default != Deny || slices.ContainsFunc(p.rules, func(r *rule) bool { return r.effect == Allow })
}

// opens reports whether a rule can let a call through that would be stopped
// without it: an ask can where the default denies.
func (r *rule) opens(p *Policy) bool {
	return r.effect == Allow || r.effect == Ask && p.Default == Deny
}
