package policy

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Match says how far conditions hold for a call.
type Match uint8

const (
	No      Match = iota // some condition does not hold
	Yes                  // all hold
	Unclear              // none fails, but one could not be evaluated
)

func (m Match) String() string {
	return [...]string{"no", "yes", "cannot be told"}[m]
}

// MarshalText writes the words for m.
func (m Match) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

func matchIf(holds bool) Match {
	if holds {
		return Yes
	}
	return No
}

// A side says which way a condition pushes the verdict when it holds. What is
// unclear never loosens and always tightens.
type side bool

const (
	loosens  side = false // the conditions of an allow; the except of an ask or a deny
	tightens side = true  // the conditions of an ask or a deny; the except of an allow
)

func (s side) other() side { return !s }

// takes reports whether m makes the condition count on side s.
func (s side) takes(m Match) bool { return m == Yes || m == Unclear && s == tightens }

// A clause is one condition of a rule. It answers for a call, and says why in
// words; no words where it has nothing to add.
type clause interface {
	holds(j *judgement, s side) (Match, string)
}

// A condition holds when all its clauses do.
type condition []clause

func (c condition) holds(j *judgement, s side) (Match, string) {
	var reasons []string
	unclear := ""
	for _, each := range c {
		m, why := each.holds(j, s)
		switch {
		case m == No:
			return No, why
		case m == Unclear && unclear == "":
			unclear = why
		case why != "":
			reasons = append(reasons, why)
		}
	}
	if unclear != "" {
		return Unclear, unclear
	}
	return Yes, strings.Join(reasons, "; ")
}

// A judgement is one call on its way through the rules. The arguments are taken
// apart when the first rule looks at them.
type judgement struct {
	*Call
	redact     *redaction // what a reason may not show
	trustHints bool

	read    bool
	args    *value
	unknown map[*value]Open // those of args that are not known; nil if all are
	argsErr error
	facts   facts // hints as far as they are believed

	left  int  // work that may still be done
	spent bool // there was not enough: nothing that costs any is looked at
	paths map[*value]*readings
	inCEL map[*value]*native
}

func (j *judgement) arguments() (*value, error) {
	if j.spent {
		return nil, errTooMuch
	}
	if !j.read {
		j.read, j.argsErr = true, errTooMuch
		if j.spend(3*len(j.Args)/4 + 8*bytes.Count(j.Args, []byte(`\`))) { // an escape is read by itself
			j.args, j.argsErr = readObject(j.Args)
		}
		if len(j.Open) > 0 && j.argsErr == nil {
			own := *j.args // which may be that of all calls without arguments
			j.args, j.argsErr = &own, j.putOpen(&own)
		}
	}
	return j.args, j.argsErr
}

// spend takes work from what the decision has left, and reports whether there was
// enough.
func (j *judgement) spend(work int) bool {
	if work > j.left {
		j.spent = true
		return false
	}
	j.left -= work
	return true
}

var (
	errAhead   = errors.New("it is not known before the call")
	errNoPlace = errors.New("an argument that is not known has no place in them")
)

// putOpen gives the arguments a place for each of those that are not known.
func (j *judgement) putOpen(args *value) error {
	for _, o := range j.Open {
		if !args.put(stepsTo(o.At), o) {
			return errNoPlace
		}
	}
	j.unknown = map[*value]Open{}
	for _, o := range j.Open { // only now does each stay where it is
		at := args
		for _, step := range stepsTo(o.At) {
			at = at.member(step)
		}
		j.unknown[at] = o
	}
	return nil
}

func stepsTo(pointer string) []string { return slices.Collect(jsontext.Pointer(pointer).Tokens()) }

// open reports whether a value is not known, and what is known of it.
func (j *judgement) open(v *value) (Open, bool) {
	if j.unknown == nil {
		return Open{}, false
	}
	o, is := j.unknown[v]
	return o, is
}

// A native is one argument as CEL takes it.
type native struct {
	it      any
	longest int // bytes of the longest text in it
	err     error
}
