package policy

import (
	"fmt"
	"slices"
)

// Looser returns a sentence for each thing that after may let through and before does not.
// It compares the two texts and tries no calls: where that does not tell which one is
// looser, or would take too long, after counts as looser. No sentence means that no call
// gets a better verdict under after, and that people and callers are shown no less
// (redact) and no other words of rules (see reworded).
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
		add(told[r], "%s is new or changed, and may let more through: %s %s%s", r.title(), r.effect, r.tools, r.words())
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
	if i := slices.IndexFunc(after.rules, (*rule).looksAtHints); before.Server.TrustHints && !after.Server.TrustHints && i >= 0 {
		add(true, "server: trust_hints is false now, and %s looks at hints: every tool counts as one that writes, destroys and reaches out", after.rules[i].title())
	}
	for _, member := range beyond(after.Server.Pass, before.Server.Pass) {
		add(true, "server: pass lists %s now", member)
	}
	all = append(all, looserChannels(before, after)...)
	for _, hidden := range beyond(before.redact.patterns(), after.redact.patterns()) {
		add(true, "redact does not hide %s any more", hidden)
	}
	for _, hidden := range beyond(after.redact.patterns(), before.redact.patterns()) {
		add(true, "redact hides %s too: people are asked about what they cannot see then, and the record does not have it", hidden)
	}
	return all
}

// asksByDefault reports whether people may be asked about calls that no rule asks about: by
// the default, about allowed proposals, about tools that have changed, and about what stands
// beside the arguments.
func (p *Policy) asksByDefault() bool {
	return p.Default != Deny || slices.ContainsFunc(p.rules, func(r *rule) bool { return r.effect == Allow })
}

// opens reports whether a rule can let a call through that would be stopped without it. An
// ask can if the default denies.
func (r *rule) opens(p *Policy) bool {
	return r.effect == Allow || r.effect == Ask && p.Default == Deny
}
