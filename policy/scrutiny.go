package policy

import (
	"slices"
	"strings"
)

// A scrutiny is a look at a whole policy, and at the tools of a server, for what is
// hardly meant.
type scrutiny struct {
	*Policy
	tools []Tool      // by their names
	looks []*toolLook // at the tools, as far as there were any
	met   map[[2]*Terms]bool
	left  budget // as maxDoubted; below 0 nothing more is found
}

// A toolLook is what was seen of a tool.
type toolLook struct {
	properties *value   // nil: the schema does not list them
	untested   []string // nil before that was looked for
}

func (p *Policy) scrutiny(tools []Tool, work budget) *scrutiny {
	tools = slices.SortedFunc(slices.Values(tools), func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return &scrutiny{Policy: p, tools: tools, looks: make([]*toolLook, len(tools)), met: map[[2]*Terms]bool{}, left: work}
}

// maxDoubted bounds, while all calls wait, the search for what is likely a mistake, in
// rules, patterns, what there is of terms, and bytes of schemas.
const maxDoubted = 1 << 22

// fits reports whether a rule names a tool.
func (s *scrutiny) fits(r *rule, t Tool) bool {
	if !s.left.spend(1 + 2*len(r.tools)) {
		return false
	}
	_, fits := r.tools.match(t.Name)
	return fits
}

// covers reports whether a rule names all that another does.
func (s *scrutiny) covers(r, other *rule) bool {
	return s.left.spend(2+5*len(r.tools)*len(other.tools)) && r.covers(other.tools)
}

// couldAgree reports whether the people named in both terms are enough for both.
func (s *scrutiny) couldAgree(a, b *Terms) bool {
	pair := [2]*Terms{a, b}
	could, known := s.met[pair]
	if !known {
		could = !s.left.spend(a.size()+b.size()) || mergeTerms([]*Terms{a, b}).Answerable()
		s.met[pair] = could
	}
	return could
}

// look reads the schema of a tool, once.
func (s *scrutiny) look(i int) *toolLook {
	if s.looks[i] == nil {
		s.looks[i] = &toolLook{}
		if s.left.spend(len(s.tools[i].InputSchema)) {
			if schema, err := readObject(s.tools[i].InputSchema); err == nil {
				s.looks[i].properties = schema.member("properties")
			}
		}
	}
	return s.looks[i]
}

// mayHave reports whether a tool could be called with the argument: it is in
// the schema, or the schema does not list its properties.
func (s *scrutiny) mayHave(i int, name string) bool {
	properties := s.look(i).properties
	return properties == nil || name == "*" || properties.member(name) != nil
}

// A Tool is what a server lists, as far as warnings need it.
type Tool struct {
	Name        string
	InputSchema []byte // raw JSON schema; nil if not known
	Hints       Hints
}
