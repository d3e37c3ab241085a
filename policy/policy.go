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
	"crypto/sha256"
	"encoding/hex"
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

	Hints Hints     // what the server says about the tool
	Now   time.Time // for hours, until, limit and CEL's now; zero is an error in rules that need it
}

// Hints are a tool's annotations; nil means that the server says nothing. They
// loosen nothing unless the file sets trust_hints.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// A Policy is a loaded file, or what flags and defaults make of one. It never
// changes and may be used from many goroutines at once. The zero Policy denies
// everything.
type Policy struct {
	Default   Verdict // for what no rule matches
	Proposals Proposals
	Server    Server
	Provides  []string // what the server is for, in words that proposers may ask for (seed 000, option 3)

	rules    []*rule
	terms    *Terms // how the default asks
	redact   redaction
	tests    []inlineTest
	ids      []string // whom of and to name, groups resolved; neither local nor host
	warnings []string // what the file alone gives reason to doubt
	source   []byte   // what the hash is over
}

// Proposals says what becomes of a proposal that we can serve (DESIGN 8).
type Proposals struct {
	Fulfil           string // "ask": never without somebody's leave; "policy": as the rules say; "never"
	Broadcast        bool   // also those addressed to nobody
	RejectUntargeted string // "auto": where nobody else could serve it, or the proposer counts rejects; "always" or "never"
}

// Server says how far the wrapped server is believed.
type Server struct {
	Pin        string   // when a tool's definition changes: "off", "warn", "ask" or "block"
	TrustHints bool     // whether its hints may loosen anything
	Pass       []string // members beside the arguments that need no leave: names of params, or _meta.KEY
}

// Rules is how many rules there are.
func (p *Policy) Rules() int { return len(p.rules) }

// Hash names the policy: the hex SHA-256 of what it was made from.
func (p *Policy) Hash() string {
	sum := sha256.Sum256(p.source)
	return hex.EncodeToString(sum[:])
}
