package policy

import (
	"bytes"
	"slices"
	"strings"
	"time"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a type here
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
	p *Policy

	read    bool
	args    *value
	argsErr error
	facts   facts // hints as far as they are believed

	left  int  // work that may still be done
	spent bool // there was not enough: nothing that costs any is looked at
	paths map[*value]*readings
	inCEL map[*value]*native
}

func (p *Policy) judgement(c *Call) *judgement {
	return &judgement{Call: c, p: p, facts: c.Hints.facts(p.Server.TrustHints), left: mostWork}
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
	}
	return j.args, j.argsErr
}

// toolClause is the list behind allow, ask, deny, and behind tools in except.
type toolClause struct {
	globs
	none string // what to say when nothing fits
}

func newToolClause(g globs) toolClause { return toolClause{g, "the tool is none of " + g.String()} }

func (t toolClause) holds(j *judgement, _ side) (Match, string) {
	if len(j.Tool) > maxName && !slices.Contains(t.globs, "*") {
		return Unclear, "the name " + show(j.Tool) + " is too long to be looked at"
	} else if len(j.Tool) > maxName {
		return Yes, "tool " + show(j.Tool) + " fits *"
	}
	pattern, ok := t.match(j.Tool)
	switch {
	case !ok:
		return No, t.none
	case pattern == j.Tool:
		return Yes, "the tool is " + pattern
	}
	return Yes, "tool " + show(j.Tool) + " fits " + pattern
}

// methodClause names methods. A rule without one is about tools/call alone.
type methodClause struct{ globs }

const toolsCall = "tools/call"

func (m methodClause) holds(j *judgement, _ side) (Match, string) {
	if m.globs == nil && j.Method == toolsCall {
		return Yes, ""
	}
	if m.globs == nil {
		return No, "the rule is about tools/call"
	}
	if pattern, ok := m.match(j.Method); ok {
		return Yes, "method " + show(j.Method) + " fits " + pattern
	}
	return No, "the method is none of " + m.String()
}

// callerClause is from: patterns of ids, groups resolved.
type callerClause struct {
	globs
	members []string // of the groups it names
}

func (c callerClause) holds(j *judgement, _ side) (Match, string) {
	if !validID(j.From) {
		return Unclear, "the caller's id cannot be read"
	}
	if slices.Contains(c.members, j.From) {
		return Yes, "caller " + j.From + " is in the group"
	}
	if pattern, ok := c.match(j.From); ok {
		return Yes, "caller " + j.From + " fits " + pattern
	}
	return No, "the caller " + j.From + " is none of " + strings.Join(append(slices.Clone(c.globs), c.members...), ", ")
}

// viaClause says by which road a call may come.
type viaClause []string

var roads = []string{"request", "proposal"}

func (v viaClause) holds(j *judgement, _ side) (Match, string) {
	if !slices.Contains(roads, j.Via) {
		return Unclear, "it is not known by which way the call came"
	}
	return matchIf(slices.Contains(v, j.Via)), "the call came as a " + j.Via
}

// untilClause ends a rule.
type untilClause struct{ end time.Time }

func (u untilClause) holds(j *judgement, _ side) (Match, string) {
	end := u.end.UTC().Format("2006-01-02 15:04 MST")
	switch {
	case j.Now.IsZero():
		return Unclear, "until " + end + ": cannot be told, the time is not known"
	case j.Now.Before(u.end):
		return Yes, "until " + end + ": yes"
	}
	return No, "until " + end + ": it is over"
}

// show quotes what comes from outside unless it is a plain word, and cuts it.
func show(s string) string {
	const longest = 80
	plain := s != "" && len(s) <= longest
	for i := 0; plain && i < len(s); i++ {
		plain = strings.IndexByte(idBytes+"/@:*?~+=%", s[i]) >= 0
	}
	if plain {
		return s
	}
	return quote(s, longest)
}

// quote shows what comes from outside, in quotes and cut (RELIABILITY AI-15).
func quote(s string, longest int) string { return shown.Quote(s, longest) }

const idBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

// validID is the grammar of participant ids (DESIGN 14).
func validID(id string) bool {
	if id == "" || len(id) > 64 || strings.HasPrefix(id, "system") {
		return false
	}
	return strings.Trim(id, idBytes) == ""
}
