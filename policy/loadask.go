package policy

import (
	"maps"
	"slices"
	"strings"
)

// asks resolves all named terms, so that mistakes show in those that no rule
// uses too.
func (l *loader) asks() {
	if _, ok := l.named["default"]; !ok {
		l.terms["default"] = &builtin
	}
	for _, name := range slices.Sorted(maps.Keys(l.named)) {
		l.ask(l.named[name], name)
	}
	if _, ok := l.named["default"]; ok {
		l.p.terms = l.terms["default"]
	}
}

// ask gives the terms of a name, resolving them on first use.
func (l *loader) ask(at item, name string) *Terms {
	if t, ok := l.terms[name]; ok {
		return t
	}
	from, ok := l.named[name]
	switch {
	case !ok:
		known := append(slices.Sorted(maps.Keys(l.named)), "default")
		l.wrong(at, meant(name, known), "there is no ask named %q", name)
	case slices.Contains(l.open, name):
		l.wrong(at, "", "asks extend each other in a circle: %s", strings.Join(append(l.open, name), ", "))
	default:
		l.open = append(l.open, name)
		t := l.readTerms(from, "the ask "+name, name == "default", &builtin)
		l.open = l.open[:len(l.open)-1]
		l.terms[name] = t
		return t
	}
	t := builtin
	return &t
}

// readTerms reads one way of asking. What it leaves out comes from the ask it
// extends, else from base; but who is asked has to be said, unless base may say it.
func (l *loader) readTerms(at item, what string, baseSays bool, base *Terms) *Terms {
	t := *base
	var remembers, passes *item
	said, fine := baseSays, len(l.problems)
	if at.form == mapping {
		if i := slices.IndexFunc(at.keys, func(k item) bool { return k.text == "extends" }); i >= 0 {
			t, said = *l.ask(at.values[i], at.values[i].text), true
		}
	}
	ok := l.fields(at, what, map[string]func(item){
		"extends": func(item) {},
		"of": func(v item) {
			t.Of, said = l.people(v, "of"), true
			l.p.asked = append(l.p.asked, abroad(t.Of)...)
		},
		"need":     func(v item) { t.Need = l.whole(v, "need", 1, 100) },
		"within":   func(v item) { t.Within = l.duration(v, "within", MaxQuestion) },
		"mode":     func(v item) { t.Mode = l.word(v, "mode", modes...) },
		"priority": func(v item) { t.Priority = l.word(v, "priority", priorities...) },
		"delegate": func(v item) { t.Delegate, passes = l.delegate(v), &v },
		"edit":     func(v item) { t.Edit = l.edits(v) },
		"remember": func(v item) { t.Remember, remembers = l.remember(v), &v },
		"folder":   func(v item) { t.Folder = l.folder(v) },
		"confirm":  func(v item) { t.Confirm = l.word(v, "confirm", Passkey) },
	})
	if !ok {
		return &t
	}
	if slices.Contains(t.Remember, "folder") && t.Folder == "" {
		l.wrong(at, "write folder: with a JSON pointer like /path", "%s remembers folders, and does not say of which argument", what)
	}
	if offers := len(t.Remember); t.Confirm != "" {
		if t.confirmEach(); remembers != nil && len(t.Remember) < offers {
			l.wrong(*remembers, "leave remember: out", "%s takes a passkey for each call, and remembers no yes", what)
		}
		if passes != nil {
			l.wrong(*passes, "leave delegate: out", "%s takes a passkey, which signs for local alone, and is passed on to nobody", what)
		}
	}
	if !said {
		l.wrong(at, "write of: with ids or groups, or extends: default", "%s does not say who is asked", what)
	} else if t.Confirm != "" && !t.Answerable() && fine == len(l.problems) {
		l.wrong(at, "write of: with local, and need: 1 or nothing", "nobody could answer %s: passkeys sign for local, and for nobody else", what)
	} else if len(t.Of) < t.Need && fine == len(l.problems) {
		l.wrong(at, "name more under of:", "nobody could answer %s: it needs %d to agree and names %d", what, t.Need, len(t.Of))
	}
	return &t
}

func (l *loader) delegate(at item) *Delegate {
	d := &Delegate{Depth: 1}
	l.fields(at, "delegate", map[string]func(item){
		"to":    func(v item) { d.To = l.people(v, "to") },
		"depth": func(v item) { d.Depth = l.whole(v, "depth", 1, 3) },
	})
	l.p.passedTo = append(l.p.passedTo, abroad(d.To)...)
	if len(d.To) == 0 {
		l.wrong(at, "write to: with ids or groups", "delegate does not say to whom")
	}
	return d
}

// folder is the argument whose folder a yes may be for: one of the first level.
func (l *loader) folder(at item) string {
	arg := l.text(at, "folder")
	if steps, err := pointer(arg); err != nil || len(steps) != 1 {
		l.wrong(at, "write a JSON pointer to an argument, like /path", "folder: %q is none", arg)
	}
	return arg
}

func (l *loader) remember(at item) (all []string) {
	l.many(at, "remember", func(v item) {
		if word := l.word(v, "remember", memories...); !slices.Contains(all, word) {
			all = append(all, word)
		}
	})
	return all
}

var (
	fieldName   = lazily(`^[A-Za-z][A-Za-z0-9_]*$`) // and 64 bytes at most, which the pattern would be 64 times as large for
	takenFields = []string{"approve", "reason", "action", "delegateTo", "remember"}
	editTypes   = []string{"string", "number", "integer", "boolean"}
)

func (l *loader) edits(at item) (all []Edit) {
	l.members(at, "edit", func(key, v item) {
		if len(key.text) > 64 || !fieldName().MatchString(key.text) || slices.Contains(takenFields, key.text) {
			l.wrong(key, "", "edit: a field is named with letters, digits and _, and is none of %s", strings.Join(takenFields, ", "))
		}
		all = append(all, l.edit(key, v))
	})
	return all
}

// MaxField is how many bytes a number has at most that somebody puts into a field. approval
// compares no longer ones, so a longer bound would bound nothing.
const MaxField = 64

func (l *loader) edit(key, at item) Edit {
	e := Edit{Field: key.text, Title: key.text}
	var enum []literal
	bounds := make([]*literal, 2)
	bound := func(i int, to *string, what string) func(item) {
		return func(v item) {
			n := l.number(v, what)
			if len(n.text) > MaxField {
				l.wrong(v, "", "%s has %d bytes; a field holds numbers of up to %d", what, len(n.text), MaxField)
			}
			*to, bounds[i] = n.text, &n
		}
	}
	l.fields(at, "edit."+e.Field, map[string]func(item){
		"arg":   func(v item) { e.Arg = l.editable(v) },
		"title": func(v item) { e.Title = l.text(v, "title") },
		"type":  func(v item) { e.Type = l.word(v, "type", editTypes...) },
		"enum":  func(v item) { enum = l.literals(v, "enum") },
		"min":   bound(0, &e.Min, "min"),
		"max":   bound(1, &e.Max, "max"),
	})
	if e.Arg == "" {
		l.wrong(key, "write arg: with a JSON pointer like /target, or @timeout", "edit.%s does not say which argument it is", e.Field)
	}
	l.editType(&e, at, enum, bounds[0], bounds[1])
	return e
}

func (l *loader) editable(at item) string {
	arg := l.text(at, "arg")
	if _, err := pointer(arg); err != nil && arg != "@timeout" {
		l.wrong(at, "write a JSON pointer like /target, or @timeout", "arg: %q is neither", arg)
	}
	return arg
}

// editType settles the type of a field, which what bounds it has to fit.
func (l *loader) editType(e *Edit, at item, enum []literal, low, high *literal) {
	switch {
	case e.Type != "":
	case low != nil, high != nil, e.Arg == "@timeout":
		e.Type = "number"
	case len(enum) > 0:
		e.Type = enum[0].kind.String()
	default:
		e.Type = "string"
	}
	numeric := e.Type == "number" || e.Type == "integer"
	for _, n := range enum {
		e.Enum = append(e.Enum, n.json())
		if n.kind.String() != e.Type && !(numeric && n.kind == isNumber && (e.Type == "number" || n.number.IsInt())) {
			l.wrong(at, "", "edit.%s: %s is no %s", e.Field, n.show(), e.Type)
		}
	}
	switch {
	case !numeric && (low != nil || high != nil || e.Arg == "@timeout"):
		l.wrong(at, "", "edit.%s: min, max and @timeout go with numbers, not with a %s", e.Field, e.Type)
	case low != nil && high != nil && low.number.Cmp(high.number) > 0:
		l.wrong(at, "", "edit.%s: min is over max", e.Field)
	}
}
