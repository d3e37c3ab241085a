// Package policy decides whether a call may be made: a call in, a decision
// with its reasons out. It does no I/O, keeps no state and reads no clock.
//
//	Load -> *Policy ; Policy.Decide(Call, Usage) -> Decision
//
// Every rule that matches takes part: deny beats ask beats allow, whatever the
// order. What cannot be evaluated only tightens: it takes an allow away and
// makes an ask or a deny hold (DESIGN 6).
package policy

import (
	"fmt"
	"time"
)

// A Verdict is the outcome of a decision, from the strictest to the loosest.
// The zero Verdict is Deny, so that a forgotten field opens nothing.
type Verdict uint8

const (
	Deny  Verdict = iota // refuse without asking
	Ask                  // somebody must agree
	Allow                // go ahead
)

var verdicts = []string{"deny", "ask", "allow"}

func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return verdicts[Deny]
}

// MarshalText writes the word for v.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads one of the words allow, ask and deny, and nothing else:
// an unknown word is an error, never a verdict.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, word := range verdicts {
		if word == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no verdict: allow, ask or deny", text)
}

// A Call is what a decision is made about.
type Call struct {
	From   string // participant id of the caller, as the gateway gave it
	Via    string // "request" or "proposal"; anything else is an error in a rule that names via
	Method string // "tools/call", or any other method that is judged

	// Tool is the name of what is called: a tool; for prompts/get a prompt;
	// otherwise empty, which only the pattern * matches.
	Tool string

	// Args is one raw JSON object that was scanned strictly: the arguments of
	// tools/call, the params of any other method. Nil stands for {}. Bytes that
	// cannot be read are an error in every rule that looks at them.
	Args []byte

	Hints Hints     // what the server says about the tool
	Now   time.Time // for hours, until, limit and CEL's now; zero is an error in rules that need it
}

// Hints are a tool's annotations; nil means that the server says nothing. They
// loosen nothing unless the file sets trust_hints.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// A Decision is a verdict with all that led to it. The same value feeds the
// audit, the question, the events, policy explain and the refusal, so they
// cannot disagree. Values of redacted arguments are not in it.
type Decision struct {
	Verdict Verdict
	Rule    string // the first of the rules that decided; "" when none did and the default stands
	Line    int    // where that rule stands in its file; 0 if in none
	Say     string // the owner's words to the caller, from the first deciding rule that has any

	// Ask is who must agree and how, when Verdict is Ask: all asks that take
	// part, merged to the strictest. It may leave nobody who could answer.
	Ask *Terms

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
