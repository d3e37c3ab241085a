package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// What the checker knows of why calls are made: where a policy wants that, no call runs and nobody
// is asked unless its caller says it; it is shown and recorded as the caller's word, less what is
// secret; the server does not get it; and what it says changes nothing.

// whyKey is where a request says so, in its _meta.
const whyKey = "mcpx/justification"

// withWhy draws why a call is made, if its caller says so.
func (s *said) withWhy(o Options) {
	if d := newDice(o.Seed, "why "+s.id); o.Plans || d.chance(.75) {
		s.why = fmt.Sprintf("as %s wants\u200b it, token=SECRET-%s", s.id, s.id)
	}
}

// reason puts it into the payload of a proposal, which is not closed yet.
func (s *said) reason(payload []byte) []byte {
	if s.why == "" {
		return payload
	}
	return fmt.Appendf(payload, `,"reason":%s`, text(s.why))
}

// why is what can be read of it in a frame.
func (m *message) why(raw []byte) (why string) {
	if !bytes.Contains(raw, []byte(`"`+whyKey+`"`)) || json.Unmarshal(m.Params.Meta.Why, &why) != nil || why == "" {
		json.Unmarshal(m.Reason, &why)
	}
	return why
}

// justified draws whether a policy wants to know.
func (w way) justified(d dice) way {
	w.why = w.verdict != deny && d.chance(.25)
	return w
}

// demand is that in its rule.
func (w way) demand() string {
	if w.why {
		return ", justification: required"
	}
	return ""
}

// mark is the part of why a call is made that is no secret and can be seen.
func (cl *claim) mark() string {
	return strings.TrimSuffix(strings.Split(cl.why+"\u200b", "\u200b")[0], " ")
}

// tellsWhy: whoever is asked reads why, and no reason of anybody else.
func (c *checker) tellsWhy(cl *claim, shown string) {
	switch {
	case !cl.perfect:
	case cl.why != "" && !strings.Contains(shown, ` says: "`+cl.mark()) && !strings.Contains(shown, `"`+cl.mark()):
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
