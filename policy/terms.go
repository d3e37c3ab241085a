package policy

import "time"

// Terms are how a question is put: who may agree, how many of them must, by
// when, and what they may change.
type Terms struct {
	// Of are the participants who may answer: ids, "local" for the person at
	// this machine, "host" for the person behind the calling desktop client.
	// Groups are resolved and the caller is taken out. In sequential mode they
	// are asked in this order.
	Of   []string
	Need int // how many must agree; at least 1

	Within   time.Duration // the time to decide; over 0, at most 24 h
	Mode     string        // "parallel" or "sequential"
	Priority string        // "low", "normal" or "high"

	Delegate *Delegate // nil: nobody may pass the question on
	Edit     []Edit    // what approvers may change, by name of field
	Remember []string  // which of "once", "session" and "always" an answer may choose

	Rules []string // the rules that ask; none when it is the default
}

// Delegate says to whom an approver may pass a question on, and how often.
type Delegate struct {
	To    []string // like Terms.Of
	Depth int      // 1 to 3
}

// An Edit is one argument that an approver may change (seed 003, pattern 2).
type Edit struct {
	Field    string   // the property of the question's schema
	Arg      string   // a JSON pointer into the arguments, or "@timeout": the time the server has for the call, in seconds
	Title    string   // as the owner wrote it; the Field if he wrote none
	Type     string   // "string", "number", "integer" or "boolean"
	Enum     []string // raw JSON values of that type; nil allows any
	Min, Max string   // decimal text; empty means unbounded
}

// Answerable reports whether enough are left who could agree.
func (t *Terms) Answerable() bool { return t.Need <= len(t.Of) }
