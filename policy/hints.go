package policy

// facts are the four hints as far as they are believed.
type facts [4]bool

var hintNames = [4]string{"readOnly", "destructive", "idempotent", "openWorld"}

// doubted is what MCP assumes of a tool without hints. It is the worst in all
// four, so a server that is not trusted can say nothing that would loosen
// anything.
var doubted = facts{false, true, false, true}

func (h Hints) facts(trusted bool) facts {
	f := doubted
	if !trusted {
		return f
	}
	for i, said := range []*bool{h.ReadOnly, h.Destructive, h.Idempotent, h.OpenWorld} {
		if said != nil {
			f[i] = *said
		}
	}
	if f[0] && h.Destructive == nil {
		f[1] = false // what only reads destroys nothing
	}
	return f
}

func (f facts) byName() map[string]bool {
	m := make(map[string]bool, len(f))
	for i, name := range hintNames {
		m[name] = f[i]
	}
	return m
}
