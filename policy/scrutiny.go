package policy

// A scrutiny is a look at a whole policy, and at the tools of a server, for what is
// hardly meant.
type scrutiny struct {
	*Policy
	tools []Tool
	looks []*toolLook // at the tools, as far as there were any
	met   map[[2]*Terms]bool
	left  budget // as mostDoubted; below 0 nothing more is found
}

// A toolLook is what was seen of a tool.
type toolLook struct {
	properties *value   // nil: the schema does not list them
	untested   []string // nil before that was looked for
}

func (p *Policy) scrutiny(tools []Tool, work budget) *scrutiny {
	return &scrutiny{Policy: p, tools: tools, looks: make([]*toolLook, len(tools)), met: map[[2]*Terms]bool{}, left: work}
}

// mostDoubted is how much is looked at for what is hardly meant while everybody waits, in
// rules, patterns, what there is of terms, and bytes of schemas.
const mostDoubted = 1 << 22

// Doubts are the warnings that [Policy.Unreached] gives, and all others that
// [Policy.Warnings] does, as far as they take no longer to find than anybody should wait
// for them: of files with thousands of rules it was seconds. That there may be more is
// a warning then.
func (p *Policy) Doubts(tools []Tool) (unreached, others []string) {
	s := p.scrutiny(tools, mostDoubted)
	unreached, others = s.unreached(), s.warnings()
	if s.left < 0 {
		const more = "the policy has too many rules, or the server too many tools, to hold each against each while calls wait: mcpx-bridge policy check does, and may warn of more"
		others = append([]string{more}, others...) // first, as not all of them may be said
	}
	return unreached, others
}

// warnings are all but those of unreached.
func (s *scrutiny) warnings() (all []string) {
	all = append(all, s.Policy.warnings...)
	for i, r := range s.rules {
		all = append(all, s.overruled(r)...)
		all = append(all, s.apart(r, s.rules[:i])...)
		all = append(all, s.askedOfCallers(r)...)
		all = append(all, s.untrusted(r)...)
		all = append(all, s.sumsHidden(r)...)
		if len(s.tools) > 0 && r.aboutTools() && s.left.spend(1) {
			all = append(all, s.fitting(r)...)
		}
		if s.left < 0 {
			break
		}
	}
	return all
}

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

// together reports whether those who may be asked on both terms could agree.
func (s *scrutiny) together(a, b *Terms) bool {
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
