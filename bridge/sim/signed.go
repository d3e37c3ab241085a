package sim

import (
	"encoding/json"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// What the checker knows of yeses that take a passkey: one counts that a passkey has signed, over
// the question as it stands, under the policy under which it was to be signed, once.

// drafted: the bridge has said what is to be signed, for a yes to what is shown.
func (c *checker) drafted(question string, statement []byte, edit string) {
	c.drafts[string(statement)] = draft{c.local[question], edit, len(c.books)}
}

// tightened: a question takes a passkey from now on, as the policy in force wants it.
func (c *checker) tightened(r record.Record) {
	c.w.tally.Tightened++
	if cl := c.questions[r.Question]; cl == nil || cl.question != r.Question || !cl.terms(c.inForce()).confirm {
		c.blame("AI-14", "%s is on record as taking a passkey, and the policy does not want that", r.Question)
	}
}

// signedAnswer takes a yes of the person at this machine with a signature. genuine: the statement
// is signed. Brought for another question than its own it uses up nothing (seed 91119286).
func (c *checker) signedAnswer(question string, statement []byte, genuine bool) {
	one, known := c.drafts[string(statement)]
	var said struct{ Question, From, Digest string }
	if !genuine || !known || c.halted() || json.Unmarshal(statement, &said) != nil || said.Question != question {
		return
	}
	delete(c.drafts, string(statement))
	if one.digest != c.local[question] || one.edit == "" && said.Digest != one.digest || one.under != len(c.books) {
		return
	}
	c.w.tally.Signed++
	cl := c.questions[question]
	switch {
	case question == c.filedAs:
		c.filedYes = true
	case cl != nil && cl.question == question && said.From == cl.from:
		cl.votes = append(cl.votes, vote{who: "local", at: c.w.now, edit: one.edit, signed: true})
	}
}
