package prompt

import (
	"cmp"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// Whether a changed policy file counts is asked for as a call is, so that all that holds for
// those holds for it. Whoever is asked reads what it is.

const policyHeadline = "The policy file was changed. Shall it count?"

// addPolicyFile adds what the file would change, in the place of arguments.
func addPolicyFile(v *approval.View, add func(look, string)) {
	add(usual, "What may let more through, or tell people less:")
	named := map[string]string{}
	for i := range v.Arguments {
		l := &v.Arguments[i]
		said := cmp.Or(strings.Join(linesOf(l), `\n`), l.Whole, l.Text)
		switch {
		case strings.HasPrefix(l.Name, "/looser/"):
			add(usual, "  - "+said)
		default:
			named[l.Name] = said
		}
	}
	add(usual, "Until you say yes, the rules from before hold; what is tighter in the file waits too.")
	add(usual, circumstance("File", named["/file"]))
	add(faint, circumstance("SHA-256", named["/sha256"]))
}

// endOfPolicyFile is what became of that question, in the words of an event.
func endOfPolicyFile(because string) string {
	if because == "aborted: replaced" {
		return "the file was changed again"
	}
	return because
}
