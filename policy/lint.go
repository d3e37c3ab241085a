package policy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a function here
)

// Participants are the ids behind of and to, those of the groups named there
// included, each once: people who have to exist for a question to reach them.
func (p *Policy) Participants() []string {
	return sortedOnce(slices.Concat(p.asked, p.passedTo))
}

// Asked are those of [Policy.Participants] who stand behind of.
func (p *Policy) Asked() []string { return sortedOnce(p.asked) }

// Delegates are those of [Policy.Participants] who stand behind to alone: nobody asks them,
// unless somebody who is asked passes the question on.
func (p *Policy) Delegates() []string {
	return slices.DeleteFunc(sortedOnce(p.passedTo), func(id string) bool { return slices.Contains(p.asked, id) })
}

func sortedOnce(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// Deciders are all who may be asked about something, each once: "local" first,
// then "host" and the participants. Who calls is among them, though never asked
// about that call.
func (p *Policy) Deciders() []string {
	var all []string
	add := func(t *Terms) {
		all = append(all, t.Of...)
		if t.Delegate != nil {
			all = append(all, t.Delegate.To...)
		}
	}
	for _, r := range p.rules {
		if r.mayAsk() {
			add(p.termsOf(r))
		}
	}
	if p.Default == Ask || p.Proposals.Fulfil == "ask" {
		add(p.defaultTerms())
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(doorRank(a), doorRank(b)), cmp.Compare(a, b))
	})
	return slices.Compact(all)
}

// Warnings are what is allowed but probably not meant, one sentence each: rules
// and arguments that fit nothing the server has, rules that others overrule
// always, asks that nobody but the caller could answer. Without tools, only what
// the file itself shows.
func (p *Policy) Warnings(tools []Tool) []string {
	s := p.scrutiny(tools, math.MaxInt)
	return append(s.warnings(), s.unreached()...)
}

// fitting warns if a rule fits no tool, or tests an argument that none of its tools has.
func (s *scrutiny) fitting(r *rule) []string {
	var fits []int
	for i, t := range s.tools {
		if s.fits(r, t) {
			fits = append(fits, i)
		}
	}
	if s.left < 0 {
		return nil
	}
	if len(fits) == 0 {
		return []string{r.title() + " fits none of the server's tools"}
	}
	var all []string
	for _, a := range r.arguments() {
		if !a.deep && !slices.ContainsFunc(fits, func(i int) bool { return s.mayHave(i, a.steps[0]) }) {
			all = append(all, fmt.Sprintf("%s tests %s, which none of the tools it fits has", r.title(), a.label))
		}
	}
	return all
}

// overruled warns if a stricter rule without conditions covers all of r.
func (s *scrutiny) overruled(r *rule) []string {
	for _, o := range s.rules {
		if s.left.spend(1) && o.plain && o.effect < r.effect && r.aboutTools() && s.covers(o, r) {
			return []string{fmt.Sprintf("%s has no effect: %s always overrules it", r.title(), o.title())}
		}
	}
	if r.effect == Allow && s.Default == Allow && !r.closes() && r.aboutTools() {
		return []string{fmt.Sprintf("%s has no effect: the default is to allow", r.title())}
	}
	return nil
}

// sumsHidden warns of limits whose sums a restart forgets, see [Policy.Recall].
func (s *scrutiny) sumsHidden(r *rule) []string {
	if r.limit == nil || r.limit.sum == nil || !s.redact.hides(r.limit.sumOf.steps) {
		return nil
	}
	return []string{fmt.Sprintf("%s sums %s, which redact keeps off the record: after a restart, one call from before it uses up the whole sum", r.title(), r.limit.sumOf.label)}
}

// unsaid warns of words that no caller gets.
func unsaid(r *rule) []string {
	if r.say == "" || r.effect == Deny || r.limit != nil && r.limit.over == Deny {
		return nil
	}
	return []string{r.title() + " never denies a call, so nobody is told what it says: say is for callers whom the rule denies"}
}

// askedOfCallers warns of callers whose calls nobody else could agree to.
func (s *scrutiny) askedOfCallers(r *rule) []string {
	if r.effect != Ask {
		return nil
	}
	terms := s.termsOf(r)
	var all []string
	for _, id := range r.callers() {
		if s.left.spend(10+terms.size()) && !terms.without(id).Answerable() {
			all = append(all, fmt.Sprintf("%s asks when %s calls, and then nobody could agree: a caller never decides on its own call", r.title(), id))
		}
	}
	return all
}

// disjointFromEarlier warns if an earlier ask about the same tools names none of the people
// of r, so that nobody could agree.
func (s *scrutiny) disjointFromEarlier(r *rule, earlier []*rule) []string {
	if r.effect != Ask {
		return nil
	}
	for _, o := range earlier {
		if s.left.spend(2) && o.effect == Ask && !s.couldAgree(s.termsOf(o), s.termsOf(r)) && (s.covers(r, o) || s.covers(o, r)) {
			return []string{fmt.Sprintf("%s and %s can ask about one call, and then nobody could agree: too few people may answer both", o.title(), r.title())}
		}
	}
	return nil
}

// untrusted warns of conditions that are always the same because hints are not trusted.
func (s *scrutiny) untrusted(r *rule) []string {
	if s.Server.TrustHints || !r.looksAtHints() {
		return nil
	}
	return []string{fmt.Sprintf("%s looks at hints, but the server's own hints are not trusted: every tool counts as one that writes, destroys and reaches out (server: {trust_hints: true})", r.title())}
}

// warnings are all but those of unreached.
func (s *scrutiny) warnings() (all []string) {
	all = append(all, s.Policy.warnings...)
	all = append(all, s.uneditable()...)
	all = append(all, s.unheard()...)
	for i, r := range s.rules {
		all = append(all, s.overruled(r)...)
		all = append(all, s.disjointFromEarlier(r, s.rules[:i])...)
		all = append(all, s.askedOfCallers(r)...)
		all = append(all, s.untrusted(r)...)
		all = append(all, s.sumsHidden(r)...)
		all = append(all, unsaid(r)...)
		if len(s.tools) > 0 && r.aboutTools() && s.left.spend(1) {
			all = append(all, s.fitting(r)...)
		}
		if s.left < 0 {
			break
		}
	}
	return all
}

// Doubts are the warnings about denies by an argument that some of the tools do not have,
// and all others that [Policy.Warnings] gives, as far as they take no longer to find than
// anybody should wait for them: of files with thousands of rules it was seconds. That there
// may be more is a warning then.
func (p *Policy) Doubts(tools []Tool) (unreached, others []string) {
	s := p.scrutiny(tools, maxDoubted)
	unreached, others = s.unreached(), s.warnings()
	if s.left < 0 {
		const more = "the policy has too many rules, or the server too many tools, to compare them all while calls wait; mcpx-bridge policy check does, and may warn of more"
		others = append([]string{more}, others...) // first, as not all of them may be said
	}
	return unreached, others
}

// unheard warns of channels that hear of nothing, and of answers that nobody asks for.
func (p *Policy) unheard() (all []string) {
	longest, deciders := p.longest(), p.Deciders()
	for _, c := range p.channels {
		warn := func(format string, a ...any) {
			all = append(all, fmt.Sprintf("notify: %s (line %d) ", c.Name, c.Line)+fmt.Sprintf(format, a...))
		}
		if at := c.At(p.channels); longest > 0 && at >= longest {
			warn("hears of a question that has been open for %s, and none is open for longer than %s", shown.Span(at), shown.Span(longest))
		}
		if len(deciders) > 0 && len(beyond(c.For, deciders)) == len(c.For) {
			warn("hears of the questions of %s, whom no rule asks", strings.Join(c.For, ", "))
		}
		for _, who := range beyond(slices.Sorted(maps.Values(c.People)), deciders) {
			warn("takes answers as those of %s, whom no rule asks", who)
		}
	}
	return all
}

// longest is how long a question may be open, 0 if nobody is asked.
func (p *Policy) longest() (longest time.Duration) {
	if p.asksByDefault() {
		longest = p.defaultTerms().Within
	}
	for _, r := range p.rules {
		if r.mayAsk() {
			longest = max(longest, p.termsOf(r).Within)
		}
	}
	return longest
}
