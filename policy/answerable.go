package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Unanswerable refuses a policy some of whose questions nobody could ever answer
// where it is to be in force (FINDINGS C7): self, the bridge, is never asked, and
// host only where the client's own calls are judged. Nil: there are none. It is a
// *LoadError with the place, whose File the caller fills in.
func (p *Policy) Unanswerable(self string, host bool) *LoadError {
	for _, r := range p.rules {
		if !r.mayAsk() {
			continue
		}
		if why := p.termsOf(r).never(self, host); why != "" {
			return &LoadError{Line: r.line, Column: 1, Message: fmt.Sprintf("rule %s asks %s", r.name, why), Suggestion: "name somebody else; local is you, at this machine"}
		}
	}
	if !p.asksByDefault() && p.Proposals.Fulfil != "ask" {
		return nil
	}
	if why := p.defaultTerms().never(self, host); why != "" {
		return &LoadError{Message: "the default asks " + why, Suggestion: "name somebody else under asks: {default: {of: …}}; local is you, at this machine"}
	}
	return nil
}

// never says why terms can have no yes, "" if they can.
func (t *Terms) never(self string, host bool) string {
	var gone []string
	left := slices.DeleteFunc(slices.Clone(t.Of), func(name string) bool {
		out := name == self || name == "host" && !host
		if out {
			gone = append(gone, name)
		}
		return out
	})
	if len(left) >= t.Need || len(gone) == 0 {
		return ""
	}
	slices.Sort(gone)
	why := []string{}
	for _, name := range gone {
		if name == self {
			why = append(why, name+" is this bridge itself")
		} else {
			why = append(why, "host is nobody without --stdio and --gate-host")
		}
	}
	return fmt.Sprintf("for %d who agree, of %s, and %s: nobody could ever answer it", t.Need, strings.Join(t.Of, ", "), strings.Join(why, ", "))
}
