package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// addCircumstances adds what stands behind the arguments: what the tool does, why somebody is
// asked, who decides, then the rest.
func addCircumstances(v *approval.View, add func(look, string)) {
	fact := func(l look, name, text string) {
		if text != "" {
			add(l, circumstance(name, text))
		}
	}
	switch {
	case len(v.Plan) > 0:
		fact(strong, "Plan", "nothing runs by a yes, but what it covers is not asked about again")
	case v.Via == "proposal":
		fact(strong, "Proposal", "nobody has called yet; with a yes this bridge makes the call")
	}
	says := usual
	if slices.Contains(v.Hints, policy.MayDestroy) {
		says = alarm
	}
	fact(says, "Server says", v.ServerSays())
	fact(usual, "Why asked", v.WhyAsked())
	addPeople(v, fact)
	for _, f := range v.Facts {
		switch {
		case f.Name == "Warning":
			fact(alarm, f.Name, f.Text)
		case !saidElsewhere(v, f):
			fact(usual, f.Name, f.Text)
		}
	}
}

// decideBy is the fact that the clock on the screen says.
const decideBy = "Decide by"

func circumstance(name, said string) string {
	return fmt.Sprintf("%-12s %s", text.Cell(name), text.Cell(said))
}

// addPeople says who has agreed, who is waited for, and what became of the others.
func addPeople(v *approval.View, fact func(look, string, string)) {
	var asked, others []string
	for _, p := range v.People {
		who := text.Person(p.Who)
		if p.Who == v.Me && v.Elsewhere == "" {
			who = "you"
		}
		switch p.State {
		case "asked":
			asked = append(asked, who)
		case "agreed":
		default:
			others = append(others, who+" ("+p.State+")")
		}
	}
	fact(usual, "Needs", v.Needs())
	if v.Need > 0 || v.WhyAsked() != "" || !slices.Equal(asked, []string{"you"}) { // else nobody said who is asked beside us
		fact(usual, "Waiting for", strings.Join(asked, ", "))
	}
	fact(faint, "Others", strings.Join(others, ", "))
}

// saidElsewhere: the headline, the clock, or a line above says it.
func saidElsewhere(v *approval.View, f approval.Fact) bool {
	switch f.Name {
	case decideBy, "Rule", "Needs":
		return true
	case "Tool", "Caller", "Method":
		return v.AboutPolicy || v.AsksForTool()
	}
	return slices.Contains(v.Plan, f)
}
