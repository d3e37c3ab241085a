package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a function here
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

// missing returns a warning for each argument by which a deny looks at calls, and which some
// of the tools that it names do not have: it never stops these (FINDINGS U2).
func (s *scrutiny) missing(r *rule) []string {
	var all []string
	for _, each := range r.where {
		a, ok := each.(argument)
		if !ok || a.deep || a.steps[0] == "*" || a.holdsAbsent(tightens) {
			continue
		}
		missed, left := s.missedBy(r, a.steps[0])
		if s.left < 0 {
			break // what was not looked at is neither tested nor missed
		}
		if len(missed) > 0 {
			all = append(all, fmt.Sprintf("%s denies by %s; %s %s no such argument, so it never denies %s; %s. args: {\"**\": …} tests every string of the arguments",
				r.title(), a.label, shown.Series(missed, maxMissed), agree(missed, "have", "has"), agree(missed, "them", "it"), outcomes(left)))
		}
	}
	return all
}

// missedBy are the tools that a rule names, without an argument of that name, and with others
// that no deny tests; and the names of the tools by what becomes of their calls.
func (s *scrutiny) missedBy(r *rule, argument string) (missed []string, left map[string][]string) {
	left = map[string][]string{}
	for i, t := range s.tools {
		if !s.fits(r, t) || s.mayHave(i, argument) {
			continue
		}
		if others := s.untested(i); len(others) > 0 {
			missed = append(missed, t.Name+" ("+strings.Join(others, ", ")+")")
			outcome := s.otherOutcome(r, t)
			left[outcome] = append(left[outcome], t.Name)
		}
	}
	return missed, left
}

// maxMissed is how many tools one warning names.
const maxMissed = 12

// agree chooses the form that goes with that many.
func agree(with []string, many, one string) string {
	if len(with) == 1 {
		return one
	}
	return many
}

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

// otherOutcome says what becomes of a tool's calls that r does not reach, by the strictest
// rule without conditions, else the default, and where others may say otherwise.
func (s *scrutiny) otherOutcome(r *rule, t Tool) string {
	base, by, certain := s.Default, "default", false
	var others []*rule
	for _, o := range s.rules {
		switch {
		case o == r || !o.aboutTools() || !s.fits(o, t):
		case !o.plain:
			others = append(others, o)
		case !certain || o.effect < base:
			base, by, certain = o.effect, o.title(), true
		}
	}
	others = slices.DeleteFunc(others, func(o *rule) bool { return o.effect == base || o.effect > base && certain })
	var words strings.Builder
	words.WriteString(reachWords[base] + " by " + by)
	for _, o := range others[:min(len(others), 3)] {
		words.WriteString(", or " + reachWords[o.effect] + " in the cases of " + o.title())
	}
	return words.String()
}

// outcomes says what becomes of tools; those whose calls are allowed come first.
func outcomes(left map[string][]string) string {
	var all []string
	for _, outcome := range slices.Sorted(maps.Keys(left)) {
		tools := left[outcome]
		all = append(all, shown.Series(tools, maxMissed)+" "+agree(tools, "are", "is")+" "+outcome)
	}
	if len(all) > 4 {
		all = append(all[:4], "…")
	}
	return strings.Join(all, "; ")
}

// uneditable warns of arguments that approvers may change, and that some of the tools which
// they are asked about do not have.
func (s *scrutiny) uneditable() []string {
	all := s.lacking("the default ask", s.defaultTerms(), s.askedByDefault)
	for _, r := range s.rules {
		if r.terms != nil && r.mayAsk() && r.aboutTools() && s.left.spend(1) {
			all = append(all, s.lacking(r.title(), r.terms, func(t Tool) bool { return s.fits(r, t) })...)
		}
	}
	return all
}

// askedByDefault reports whether calls of a tool may be asked about as the default ask says.
func (s *scrutiny) askedByDefault(t Tool) bool {
	asked := s.Default == Ask
	for _, r := range s.rules {
		switch {
		case s.left < 0:
			return false
		case !r.aboutTools() || !s.fits(r, t):
		case r.terms == nil && r.mayAsk():
			return true
		case r.plain:
			asked = false
		}
	}
	return asked
}

func (s *scrutiny) lacking(title string, terms *Terms, asked func(Tool) bool) []string {
	var all []string
	for _, e := range terms.Edit {
		steps, err := pointer(e.Arg)
		if err != nil {
			continue // it is the time that the server has
		}
		var without []string
		for i, t := range s.tools {
			if asked(t) && !s.mayHave(i, steps[0]) {
				without = append(without, t.Name)
			}
		}
		if s.left < 0 {
			break
		}
		if len(without) > 0 {
			all = append(all, fmt.Sprintf("%s lets args%s be changed, which %s %s not have", title, show(e.Arg), shown.Series(without, maxMissed), agree(without, "do", "does")))
		}
	}
	return all
}
