package policy

import (
	"fmt"
	"slices"
	"strings"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a function here
)

// Words are the call in short, fit to be shown: what, by whom, which way.
func (c Call) Words() string {
	what := show(c.Tool)
	if c.Method != toolsCall {
		what = show(c.Method)
		if c.Tool != "" {
			what += " " + show(c.Tool)
		}
	}
	what += " from " + show(c.From)
	if c.Via == "proposal" {
		what += ", as a proposal"
	}
	return what
}

// Explain puts a decision into words, to be read in a terminal or pasted into a
// chat: the verdict and why, what follows from it, and what every rule made of
// the call. args are the call's arguments as they may be shown, on one line; ""
// leaves them out. The lines end with a line break.
func Explain(d Decision, args string) string {
	var b strings.Builder
	call := Call{From: d.From, Via: d.Via, Method: d.Method, Tool: d.Tool}
	fmt.Fprintf(&b, "%s: %s\n", strings.ToUpper(d.Verdict.String()), call.Words())
	if args != "" {
		fmt.Fprintf(&b, "  with %s\n", args)
	}
	for _, line := range d.because() {
		b.WriteString("  " + line + "\n")
	}
	if d.Say != "" && d.Verdict == Deny {
		fmt.Fprintf(&b, "  the caller is told: %s\n", d.Say)
	}
	if d.Ask != nil {
		b.WriteString(d.Ask.explain())
	}
	for _, r := range d.Limits {
		fmt.Fprintf(&b, "  takes %s\n", r.words())
	}
	if len(d.Reasons) > 0 {
		b.WriteString("rules:\n")
	}
	for _, r := range d.Reasons {
		fmt.Fprintf(&b, "  %s %s: %s\n", r.mark(), r.title(), r.Why)
	}
	return b.String()
}

// because are the rules that decided, or why there is none.
func (d Decision) because() []string {
	if d.Rule == "" && d.Verdict == Allow && Passes(d.Method) {
		return []string{"because " + show(d.Method) + " passes unless a rule names it"}
	}
	if d.Rule == "" && slices.ContainsFunc(d.Reasons, func(r Reason) bool { return r.Applies }) {
		return []string{"because no rule matches for certain, and the default is " + d.Verdict.String()}
	}
	if d.Rule == "" {
		return []string{"because no rule matches, and the default is " + d.Verdict.String()}
	}
	var lines []string
	for _, r := range d.Reasons {
		if r.Applies && r.Effect == d.Verdict {
			lines = append(lines, "because of "+r.title()+": "+r.Why)
		}
	}
	return lines
}

// mark is one word of fixed width: what the rule says, or that it is silent.
func (r Reason) mark() string {
	if !r.Applies {
		return "-    "
	}
	return fmt.Sprintf("%-5s", r.Effect)
}

func (t *Terms) explain() string {
	var b strings.Builder
	who := people(t.Of)
	if t.Need > 1 {
		who = fmt.Sprintf("%d of %s", t.Need, who)
	}
	if t.Answerable() {
		fmt.Fprintf(&b, "  asked: %s, within %s%s\n", who, shown.Span(t.Within), t.manner())
	} else {
		fmt.Fprintf(&b, "  nobody can agree: it takes %d, and %d may\n", t.Need, t.able())
	}
	if t.Confirm != "" {
		b.WriteString("  a yes takes a passkey, on the page of the bridge\n")
	}
	for _, e := range t.Edit {
		fmt.Fprintf(&b, "  may be changed: %s (%s)\n", e.Title, e.Arg)
	}
	if t.Delegate != nil {
		fmt.Fprintf(&b, "  may be passed on to: %s\n", people(t.Delegate.To))
	}
	return b.String()
}

// people names those who decide, and says who the two are that are no ids.
func people(names []string) string {
	words := slices.Clone(names)
	for i, name := range words {
		switch name {
		case "local":
			words[i] = "local (the person at the bridge)"
		case "host":
			words[i] = "host (the person whose client calls)"
		}
	}
	return strings.Join(words, ", ")
}

// words are what a call takes of a limit.
func (r Reservation) words() string {
	whose, amount := "everybody's", "1 call"
	if r.Caller != "" {
		whose = show(r.Caller) + "'s"
	}
	switch {
	case r.Hidden:
		amount += " and an amount that is hidden"
	case r.Amount != "":
		amount += " and " + r.Amount
	}
	return fmt.Sprintf("%s from %s limit in %s, for %s", amount, whose, r.Rule, span(r.Window))
}

func (t *Terms) manner() string {
	manner := ""
	if t.Mode == "sequential" {
		manner += ", one after the other"
	}
	if t.Priority != "normal" {
		manner += ", priority " + t.Priority
	}
	return manner
}
