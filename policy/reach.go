package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Reach says in words who can make requests for a method that is no tools/call:
// "asked about", "denied", "denied; allowed to alice (rule docs)". It is an
// outline, for people who start a bridge: a rule with conditions of its own is
// named and not weighed. See [Policy.Decide] for what holds.
func (p *Policy) Reach(method string) string {
	base, whole := p.fallback(method), false
	var others []*rule
	for _, r := range p.rules {
		switch {
		case !r.names(method):
		case !r.always():
			others = append(others, r)
		case whole:
			base = min(base, r.effect)
		default:
			base, whole = r.effect, true
		}
	}
	words := []string{reachWords[base]}
	for _, r := range others {
		if r.effect < base || r.effect > base && !whole {
			words = append(words, reachWords[r.effect]+r.reachOf())
		}
	}
	return strings.Join(words, "; ")
}

var reachWords = [...]string{Deny: "denied", Ask: "asked about", Allow: "allowed"}

// names reports whether a rule can be about a method. What has no name, as a read,
// fits * alone.
func (r *rule) names(method string) bool {
	_, named := r.where[0].(methodClause).match(method)
	_, nameless := r.tools.match("")
	return named && (nameless || method == promptsGet)
}

// always reports whether a rule that names a method holds for each request for it.
func (r *rule) always() bool {
	_, every := r.tools.match("")
	return every && len(r.where) == 2 && len(r.except) == 0 && r.limit == nil
}

// reachOf says for whom a rule holds, and which it is.
func (r *rule) reachOf() string {
	_, every := r.tools.match("")
	callers, only := callerClause{}, false
	if len(r.where) == 3 && every && len(r.except) == 0 && r.limit == nil {
		callers, only = r.where[2].(callerClause)
	}
	if !only {
		return fmt.Sprintf(" in the cases of %s", r.title())
	}
	who := strings.Join(append(slices.Clone(callers.globs), callers.members...), ", ")
	preposition := map[Verdict]string{Ask: "for"}[r.effect]
	return fmt.Sprintf(" %s %s (%s)", cmp.Or(preposition, "to"), who, r.title())
}
