package policy

import (
	"fmt"
	"slices"
)

// A Decision is a verdict with all that led to it. The same value feeds the
// audit, the question, the events, policy explain and the refusal, so they
// cannot disagree. Values of redacted arguments are not in its words; the amounts
// in Limits have to be hidden by whoever shows them, with [Policy.ForRecord].
type Decision struct {
	Verdict Verdict
	Rule    string // the first of the rules that decided; "" when none did and the default stands
	Line    int    // where that rule stands in its file; 0 if in none
	Say     string // the owner's words to the caller, from the first deciding rule that has any

	// Ask is who must agree and how, when Verdict is Ask: all asks that take
	// part, merged to the strictest. It may leave nobody who could answer.
	Ask *Terms

	// Unexplained is the rule that wants to know why the call is made, which its caller did
	// not say; "" if there is none. The Verdict is Deny then.
	Unexplained string

	Reasons []Reason      // one per rule, in the order of the file
	Limits  []Reservation // what to reserve before the call; nil when denied

	From, Via, Method, Tool string // the call's own, for Explain
}

func (d Decision) String() string {
	switch {
	case d.Rule == "":
		return d.Verdict.String() + " (no rule matched)"
	case d.Line == 0:
		return d.Verdict.String() + " (" + d.Rule + ")"
	}
	return fmt.Sprintf("%s (%s, line %d)", d.Verdict, d.Rule, d.Line)
}

// raise makes a decision stricter than the rules do, for a reason that has a name in
// the file. Whom an ask asks, and how, is what the file says for all (asks.default).
func (d *Decision) raise(p *Policy, to Verdict, name, why string) {
	d.Verdict, d.Rule, d.Line, d.Say, d.Ask = to, name, 0, "", nil
	if to == Ask {
		d.Ask = p.defaultTerms()
	}
	d.Reasons = append(slices.Clip(d.Reasons), Reason{Rule: name, Effect: to, Match: Yes, Applies: true, Why: why})
}
