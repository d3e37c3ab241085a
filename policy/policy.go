package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

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
	channels []Channel
	asked    []string // participants whom of names, groups resolved
	passedTo []string // those whom to names
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

// Names are those of the rules, in their order.
func (p *Policy) Names() (all []string) {
	for _, r := range p.rules {
		all = append(all, r.name)
	}
	return all
}

// Hash names the policy: the hex SHA-256 of what it was made from.
func (p *Policy) Hash() string {
	sum := sha256.Sum256(p.source)
	return hex.EncodeToString(sum[:])
}

func (p *Policy) defaultTerms() *Terms {
	if p.terms == nil {
		return &builtin
	}
	return p.terms
}

// AsksOthers reports whether some rule asks participants of the topic, and not
// only the person at this machine.
func (p *Policy) AsksOthers() bool {
	return len(p.asked)+len(p.passedTo) > 0
}

// TakesPasskeys reports whether a yes to some question takes a passkey.
func (p *Policy) TakesPasskeys() bool {
	return p.defaultTerms().Confirm != "" || slices.ContainsFunc(p.rules, func(r *rule) bool { return r.terms != nil && r.terms.Confirm != "" })
}

// An inlineTest is one of the file's own tests.
type inlineTest struct {
	name string
	line int
	call Call
	want Verdict
	by   string // a rule, "default", or "" when it does not matter
}

// termsOf are those of the questions that a rule may lead to.
func (p *Policy) termsOf(r *rule) *Terms { return cmp.Or(r.terms, p.defaultTerms()) }
