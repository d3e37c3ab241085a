package policy

import (
	"fmt"
	"slices"
	"strings"
)

// unreached are the warnings about denies by an argument that some of the server's
// tools do not have, and about what becomes of calls to those.
func (s *scrutiny) unreached() []string {
	var all []string
	for _, r := range s.rules {
		if r.effect == Deny && r.aboutTools() {
			all = append(all, s.missing(r)...)
		}
	}
	return all
}

// missing returns the tools that a deny names but never stops, because they have no argument
// of the name that it tests (FINDINGS U2).
func (s *scrutiny) missing(r *rule) []string {
	var all []string
	for _, each := range r.where {
		a, ok := each.(argument)
		if !ok || a.deep || a.steps[0] == "*" || a.holdsAbsent(tightens) {
			continue
		}
		var missed []string
		left := map[string]bool{}
		for i, t := range s.tools {
			if !s.fits(r, t) || s.mayHave(i, a.steps[0]) {
				continue
			}
			if others := s.untested(i); len(others) > 0 {
				missed = append(missed, t.Name+" ("+strings.Join(others, ", ")+")")
				left[s.otherOutcome(r, t)] = true
			}
		}
		if s.left < 0 {
			break // what was not looked at is neither tested nor missed
		}
		if len(missed) == 0 {
			continue
		}
		slices.Sort(missed)
		more := ""
		if n := len(missed) - maxMissed; n > 0 {
			missed, more = missed[:maxMissed], fmt.Sprintf(" and %d more", n)
		}
		all = append(all, fmt.Sprintf("%s denies by %s, which these tools do not have: %s%s; %s. args: {\"**\": …} tests every string of the arguments",
			r.title(), a.label, strings.Join(missed, ", "), more, outcomes(left)))
	}
	return all
}

// maxMissed is how many tools one warning names.
const maxMissed = 12

// holdsAbsent reports whether one of the tests could hold without the argument.
func (a argument) holdsAbsent(s side) bool {
	return slices.ContainsFunc(a.tests, func(t test) bool { return t.holdsAbsent(s) })
}

// untested returns the arguments of a tool that could hold a text and that no deny about
// this tool tests.
func (s *scrutiny) untested(i int) []string {
	t := s.look(i)
	if t.properties == nil || t.untested != nil {
		return t.untested
	}
	t.untested = []string{}
	for k, name := range t.properties.keys {
		if t.properties.items[k].mayHoldText() && !s.denies(s.tools[i], name) {
			t.untested = append(t.untested, name)
		}
	}
	slices.Sort(t.untested)
	return t.untested
}

// mayHoldText reports whether what a schema describes may be or hold a string.
func (schema *value) mayHoldText() bool {
	of := schema.member("type")
	return of == nil || of.kind != isString || !slices.Contains([]string{"number", "integer", "boolean", "null"}, of.text)
}

func (s *scrutiny) denies(t Tool, name string) bool {
	return slices.ContainsFunc(s.rules, func(r *rule) bool {
		if r.effect != Deny || !r.aboutTools() || !s.fits(r, t) {
			return false
		}
		return r.plain || slices.ContainsFunc(r.where, func(each clause) bool {
			a, ok := each.(argument)
			return ok && (a.deep || a.steps[0] == name || a.steps[0] == "*")
		})
	})
}

// otherOutcome says what becomes of a tool's calls that r does not reach.
func (s *scrutiny) otherOutcome(r *rule, t Tool) string {
	var titles []string
	for _, o := range s.rules {
		if o != r && s.fits(o, t) && o.aboutTools() {
			titles = append(titles, o.effect.String()+" by "+o.title())
		}
	}
	return strings.Join(append(titles, s.Default.String()+" by default"), ", ")
}

func outcomes(left map[string]bool) string {
	var all []string
	for words := range left {
		all = append(all, words)
	}
	slices.Sort(all)
	if len(all) > 4 {
		all = append(all[:4], "…")
	}
	return "what becomes of their calls is left to: " + strings.Join(all, "; or ")
}
