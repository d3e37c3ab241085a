package policy

import "time"

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

// A Call is what a decision is made about.
type Call struct {
	From string // participant id of the caller, as the gateway gave it

	// Unverified: nobody makes sure that it is From who calls. A limit that each caller has
	// is one that all have together then: a caller could take another name for each call.
	Unverified bool

	Via    string // "request" or "proposal"; anything else is an error in a rule that names via
	Method string // "tools/call", or any other method that is judged

	// Tool is the name of what is called: a tool; for prompts/get a prompt;
	// otherwise empty, which only the pattern * matches.
	Tool string

	// Args is one raw JSON object that was scanned strictly: the arguments of
	// tools/call, the params of any other method. Nil stands for {}. Bytes that
	// cannot be read are an error in every rule that looks at them.
	Args []byte

	// Beside is one raw JSON object of the members of params that stand beside what
	// Args are, without those of the protocol itself (see [OfProtocol]); nil if there
	// are none. No rule looks at them: they raise an allow to an ask.
	Beside []byte

	// Open are the arguments that are not known yet, and Ahead says that it is a call to
	// come, at a time that is not known either. What rules make of either is unclear.
	Open  []Open
	Ahead bool

	Why   string    // why the caller wants it, in its own words; "" if it does not say
	Hints Hints     // what the server says about the tool
	Now   time.Time // for hours, until, limit and CEL's now; zero is an error in rules that need it
}

// Hints are a tool's annotations; nil means that the server says nothing. They
// loosen nothing unless the file sets trust_hints.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// An Open is an argument that calls to come will have and that is not known yet.
type Open struct {
	At    string // a JSON pointer into the arguments, which have nothing there
	Under string // the folder in which it will be, see [Within]; "": it may be anything
}
