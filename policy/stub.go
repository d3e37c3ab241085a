package policy

import (
	"math/big"
	"time"
)

// A Match says how far a rule's conditions hold for a call.
type Match uint8

const (
	No      Match = iota // some condition does not hold
	Yes                  // all hold
	Unclear              // none fails, but one could not be evaluated
)

// A Reason is what one rule made of a call.
type Reason struct {
	Rule    string
	Line    int
	Effect  Verdict // what the rule stands for when it applies; a limit may lower it
	Match   Match
	Applies bool   // whether it took part: Yes, or Unclear in an ask or a deny
	Why     string // the condition that decided, in words
}

// A Policy is a loaded file, or what flags and defaults make of one. It never
// changes and may be used from many goroutines.
type Policy struct {
	Default   Verdict
	Proposals Proposals
	Server    Server
}

// Proposals says what becomes of proposals (DESIGN 8).
type Proposals struct {
	Fulfil           string // "ask", "policy" or "never"
	Broadcast        bool
	RejectUntargeted string // "never" or "always"
}

// Server says how far the wrapped server is believed.
type Server struct {
	Pin        string // "off", "warn", "ask" or "block" when a tool's definition changes
	TrustHints bool
}

// A Tool is what a server lists, as far as warnings need it.
type Tool struct {
	Name        string
	InputSchema []byte // raw JSON schema; nil if unknown
	Hints       Hints
}

// A LoadError is why a file was refused.
type LoadError struct {
	File         string
	Line, Column int // from 1; 0 when the file as a whole is meant
	Message      string
	Suggestion   string
	More         []*LoadError // what else is wrong, in the order of the file
}

func (e *LoadError) Error() string { return e.Message }

func Load(name string, data []byte) (*Policy, error)    { return nil, nil }
func Flags(allow, deny []string) (*Policy, error)       { return nil, nil }
func Default() *Policy                                  { return nil }
func (p *Policy) With(other *Policy) *Policy            { return nil }
func (p *Policy) Decide(c Call, used Usage) Decision    { return Decision{} }
func (p *Policy) Hash() string                          { return "" }
func (p *Policy) Redact(args []byte) []byte             { return nil }
func (p *Policy) Warnings(tools []Tool) []string        { return nil }
func (p *Policy) Participants() []string                { return nil }
func (p *Policy) Test() []TestResult                    { return nil }
func Explain(d Decision) string                         { return "" }
func Schema() []byte                                    { return nil }
func Diff(before, after *Policy, calls []Call) []Change { return nil }
func Stricter(a, b Decision) Decision                   { return a }

type TestResult struct {
	Name      string
	Line      int
	Want, Got Verdict
	By        string
	Passed    bool
	Decision  Decision
}

type Change struct {
	Call          Call
	Before, After Decision
}

// A Usage knows what was used up of a limit.
type Usage interface {
	Used(rule, caller string, window time.Duration, now time.Time) (count int, sum *big.Rat)
}

// A Reservation is what one call takes from one limit.
type Reservation struct {
	Rule   string
	Caller string        // "" where all callers share the limit
	Amount string        // exact decimal text; "" where nothing is summed
	Window time.Duration // how long it counts
}

// A Ledger is the memory of limits.
type Ledger struct{}
type Hold uint64

func (l *Ledger) Used(rule, caller string, window time.Duration, now time.Time) (int, *big.Rat) {
	return 0, nil
}
func (l *Ledger) Reserve(d Decision, now time.Time) Hold { return 0 }
func (l *Ledger) Commit(h Hold)                          {}
func (l *Ledger) GiveBack(h Hold)                        {}
