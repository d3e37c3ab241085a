package policy

import (
	"fmt"
	"slices"
	"strings"
)

// A rule is one of the file, or one that a flag stands for.
type rule struct {
	name   string
	named  bool // by whoever wrote it
	line   int
	effect Verdict
	where  condition
	except []condition
	terms  *Terms // nil: those of the default
	limit  *limit
	say    string
	reason bool // the caller has to say why (justification: required)

	said    string   // what decides whether it applies, as the file says it, to compare files
	core    string   // that without its excepts
	excepts []string // and each of these

	plain bool // nothing but the tool decides, for warnings
	tools globs
}

func (r *rule) title() string { return Reason{Rule: "rule " + r.name, Line: r.line}.title() }

func (r *rule) aboutTools() bool { return r.where[0].(methodClause).globs == nil }

// covers reports whether every name that fits one of other fits one of ours.
// Only a star stands for a star, so for that it is taken for a long odd name.
func (r *rule) covers(other globs) bool {
	const anything = "\x00\x01\x02\x03\x04\x05\x06\x07"
	return !slices.ContainsFunc(other, func(pattern string) bool {
		_, ok := r.tools.match(strings.ReplaceAll(pattern, "*", anything))
		return !ok
	})
}

// arguments are the addresses that a rule looks at, excepts included.
func (r *rule) arguments() []address {
	var all []address
	for _, c := range append([]condition{r.where}, r.except...) {
		for _, each := range c {
			if a, ok := each.(argument); ok {
				all = append(all, a.address)
			}
		}
	}
	if r.limit != nil && r.limit.sum != nil {
		all = append(all, r.limit.sumOf)
	}
	return all
}

// looksAtHints reports whether it matters to a rule what a server says of its tools.
func (r *rule) looksAtHints() bool {
	return slices.ContainsFunc(append([]condition{r.where}, r.except...), func(c condition) bool {
		return slices.ContainsFunc(c, func(each clause) bool {
			_, hints := each.(hintClause)
			when, written := each.(*expression)
			return hints || written && when.usesHints
		})
	})
}

// callers are the ids that a rule is about, when it is about certain ones.
func (r *rule) callers() []string {
	for _, each := range r.where {
		if c, ok := each.(callerClause); ok {
			certain := slices.DeleteFunc(slices.Clone(c.globs), func(g string) bool { return strings.ContainsAny(g, "*?") })
			return append(certain, c.members...)
		}
	}
	return nil
}

// closes reports whether a rule can stop a call: an allow can by its limit, or by asking why.
func (r *rule) closes() bool { return r.effect != Allow || r.limit != nil || r.reason }

func (r *rule) mayAsk() bool { return r.effect == Ask || r.limit != nil && r.limit.over == Ask }

// A Reason is what one rule made of a call.
type Reason struct {
	Rule    string  `json:"rule"`
	Line    int     `json:"line,omitempty"`
	Effect  Verdict `json:"effect"` // what the rule stands for; a limit may have lowered it
	Match   Match   `json:"match"`
	Applies bool    `json:"applies"` // whether it took part: always on Yes; on Unclear where that tightens
	Over    bool    `json:"-"`       // it applies and its limit is used up
	Why     string  `json:"why"`     // the condition that decided, in words
}

func (r Reason) title() string {
	if r.Line == 0 {
		return r.Rule
	}
	return fmt.Sprintf("%s (line %d)", r.Rule, r.Line)
}
