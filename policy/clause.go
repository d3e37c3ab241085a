package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a type here
)

// A toolClause is the list of tools behind allow, ask or deny, and behind tools in except.
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

// The methods whose calls have a name.
const (
	toolsCall  = "tools/call"
	promptsGet = "prompts/get"
)

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

// A callerClause is the member from: patterns of participant ids, with groups resolved.
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

// A viaClause is the member via: whether a call comes as a request or by a proposal.
type viaClause []string

var roads = []string{"request", "proposal"}

func (v viaClause) holds(j *judgement, _ side) (Match, string) {
	if !slices.Contains(roads, j.Via) {
		return Unclear, "it is not known by which way the call came"
	}
	return matchIf(slices.Contains(v, j.Via)), "the call came as a " + j.Via
}

// An untilClause is the member until: the moment at which a rule ends.
type untilClause struct{ end time.Time }

func (u untilClause) holds(j *judgement, _ side) (Match, string) {
	end := u.end.UTC().Format("2006-01-02 15:04 MST")
	switch {
	case j.Now.IsZero():
		return Unclear, "until " + end + ": cannot be told, the time is not known"
	case j.Now.Before(u.end) && j.Ahead:
		return Unclear, "until " + end + ": cannot be told, " + errAhead.Error()
	case j.Now.Before(u.end):
		return Yes, "until " + end + ": yes"
	}
	return No, "until " + end + ": it is over"
}

// show quotes what comes from outside unless it is a plain word, and cuts it.
func show(s string) string {
	plain := s != "" && len(s) <= maxQuoted
	for i := 0; plain && i < len(s); i++ {
		plain = strings.IndexByte(idBytes+"/@:*?~+=%", s[i]) >= 0
	}
	if plain {
		return s
	}
	return quote(s)
}

// quote shows what comes from outside, in quotes and cut (RELIABILITY AI-15).
func quote(s string) string { return shown.Quote(s, maxQuoted) }

const maxQuoted = 80

const idBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

// validID is the grammar of participant ids (DESIGN 14).
func validID(id string) bool {
	if id == "" || len(id) > 64 || strings.HasPrefix(id, "system") {
		return false
	}
	return strings.Trim(id, idBytes) == ""
}

// A hintClause is the member hints: what each hint has to be, nil where it does not matter.
type hintClause [4]*bool

func (h hintClause) holds(j *judgement, _ side) (Match, string) {
	var words []string
	for i, want := range h {
		if want == nil {
			continue
		}
		said := hintNames[i] + " is " + strconv.FormatBool(j.facts[i])
		if !j.trustHints {
			said += " (the server's own hints are not trusted)"
		}
		if j.facts[i] != *want {
			return No, said
		}
		words = append(words, said)
	}
	return Yes, strings.Join(words, ", ")
}
