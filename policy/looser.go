package policy

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
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

// closes reports whether a rule can stop a call: an allow can by its limit.
func (r *rule) closes() bool { return r.effect != Allow || r.limit != nil }

// termsOf are those of the questions that a rule may lead to.
func (p *Policy) termsOf(r *rule) *Terms { return cmp.Or(r.terms, p.defaultTerms()) }

// looserTerms says what makes it easier to get a yes.
func looserTerms(whose string, before, after *Terms) []string {
	var all []string
	add := func(looser bool, what string) {
		if looser {
			all = append(all, whose+" asks "+what)
		}
	}
	subset := func(a, b []string) bool { return len(beyond(a, b)) == 0 }
	add(!subset(after.Of, before.Of), "more people: "+strings.Join(after.Of, ", "))
	add(after.Need < before.Need, fmt.Sprintf("%d to agree, and asked %d", after.Need, before.Need))
	add(after.Within > before.Within, fmt.Sprintf("for %s, and asked for %s", after.Within.Round(time.Second), before.Within.Round(time.Second)))
	add(after.Mode != before.Mode && after.Mode == "parallel", "all at once")
	add(!subset(after.Remember, before.Remember), "for a yes that lasts longer: "+strings.Join(after.Remember, ", "))
	if to := after.Delegate; to != nil {
		add(before.Delegate == nil || !subset(to.To, before.Delegate.To) || to.Depth > before.Delegate.Depth, "people who may pass it on to more")
	}
	edits := map[string]Edit{}
	for _, e := range before.Edit {
		edits[e.Field] = e
	}
	for _, e := range after.Edit {
		add(!reflect.DeepEqual(edits[e.Field], e), "people who may change "+e.Field)
	}
	return all
}

// saying is all of a rule that decides whether it applies, in one spelling: not its
// name, its words to the caller, the tools that it names, nor how it asks. The
// groups stand for their members.
func (l *loader) saying(at item) string {
	rest := item{form: mapping}
	for i, key := range at.keys {
		if !slices.Contains([]string{"name", "say", "allow", "ask", "deny", "as", "granted"}, key.text) {
			rest.keys, rest.values = append(rest.keys, key), append(rest.values, at.values[i])
		}
	}
	said := rest.spelling()
	var groups strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.groups)) {
		if strings.Contains(said, name) {
			fmt.Fprintf(&groups, " %s=%s", name, l.sumOfGroup(name))
		}
	}
	if said += groups.String(); len(said) > mostSaid {
		return fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(said))) // it is looked up for each tool, and kept by each rule
	}
	return said
}

// mostSaid is how many bytes of what rules say are compared as they are.
const mostSaid = 256

// sumOfGroup stands for the members of a group, which many rules may name.
func (l *loader) sumOfGroup(name string) string {
	sum, known := l.sums[name]
	if !known {
		sum = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", l.groups[name])))
		if l.sums == nil {
			l.sums = map[string]string{}
		}
		l.sums[name] = sum
	}
	return sum
}
