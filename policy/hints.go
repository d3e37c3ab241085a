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

// HintsOf reads what a server says of a tool: annotations is that member of its definition,
// raw JSON, or nil. A hint that is no boolean says nothing, and nor does any where two keys
// are one to some reader.
func HintsOf(annotations []byte) (h Hints) {
	v, err := readObject(annotations)
	if err != nil {
		return h
	}
	for i, hint := range []**bool{&h.ReadOnly, &h.Destructive, &h.Idempotent, &h.OpenWorld} {
		if said := v.member(hintNames[i] + "Hint"); said != nil && said.kind == isBoolean {
			*hint = new(said.text == "true")
		}
	}
	return h
}

// Words say what a server says of a tool; none where it says nothing. They are not what MCP
// assumes then.
func (h Hints) Words() (words []string) {
	if h.ReadOnly != nil && *h.ReadOnly {
		h.Destructive, h.Idempotent = nil, nil // they mean nothing then
	}
	say := func(hint *bool, yes, no string) {
		switch {
		case hint == nil:
		case *hint:
			words = append(words, yes)
		case no != "":
			words = append(words, no)
		}
	}
	say(h.ReadOnly, OnlyReads, "writes")
	say(h.Destructive, MayDestroy, "destroys nothing")
	say(h.Idempotent, "twice is like once", "")
	say(h.OpenWorld, "reaches beyond its own data", "stays within its own data")
	return words
}

// OnlyReads is the word for a tool of which its server says so.
const OnlyReads = "only reads"

// MayDestroy is the word for a tool of which its server says so.
const MayDestroy = "may destroy"
