package sim

import (
	"bytes"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// What the checker knows of why calls are made: where a policy wants that, no call runs and nobody
// is asked unless its caller says it; it is shown and recorded as the caller's word, less what is
// secret; the server does not get it; and what it says changes nothing.

// mark is the part of why a call is made that is no secret and can be seen.
func (cl *claim) mark() string {
	return strings.TrimSuffix(strings.Split(cl.why+"\u200b", "\u200b")[0], " ")
}

// tellsWhy: whoever is asked reads why, and no reason of anybody else.
func (c *checker) tellsWhy(cl *claim, shown string) {
	switch {
	case !cl.perfect:
	case cl.why != "" && !strings.Contains(shown, `"`+cl.mark()):
		c.blame("why", "%v is made %q, and those who are asked read %q", cl, cl.why, shown)
	case cl.why == "" && (strings.Contains(shown, "The caller says") || strings.Contains(shown, "The proposer says")):
		c.blame("why", "%v is made without a word why, and those who are asked read %q", cl, shown)
	}
}

// whyRecorded: it is on record that somebody was asked, or that a rule allows it, with why.
func (c *checker) whyRecorded(cl *claim, r record.Record) {
	if !cl.perfect || cl.again || r.Args == nil || r.Event != record.Asked && (r.Event != record.Decided || r.Verdict != "allow" || r.Question != "") {
		return
	}
	if !strings.HasPrefix(r.Why, cl.mark()) || (r.Why == "") != (cl.why == "") {
		c.blame("why", "%v is on record as made %q, and it is %q", cl, r.Why, cl.why)
	}
}

// unexplained: a line for the server does not say why.
func (c *checker) unexplained(raw []byte) {
	if bytes.Contains(raw, []byte(`"`+whyKey+`"`)) {
		c.blame("why", "the server is to get why: %s", raw)
	}
}

func factOf(v approval.View, name string) string {
	for _, f := range v.Facts {
		if f.Name == name {
			return name + " says: " + f.Text
		}
	}
	return ""
}
