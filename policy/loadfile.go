package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
)

// policy reads the whole file. Groups and asks come first, whatever their
// place, because rules speak of them.
func (l *loader) policy(root item) *Policy {
	l.p = &Policy{
		Proposals: Proposals{Fulfil: "ask", RejectUntargeted: "auto"},
		Server:    Server{Pin: "ask"},
		redact:    usualSecrets,
	}
	l.groups, l.named, l.terms, l.taken = map[string][]string{}, map[string]item{}, map[string]*Terms{}, taken{}
	var rules, tests, byDefault item
	keep := func(at *item) func(item) { return func(v item) { *at = v } }
	ok := l.fields(root, "a policy", map[string]func(item){
		"version":   func(v item) { l.word(v, "version", "1") },
		"default":   keep(&byDefault),
		"approvers": l.approvers,
		"asks":      func(v item) { l.members(v, "asks", func(k, v item) { l.named[k.text] = v }) },
		"rules":     keep(&rules),
		"proposals": l.proposals,
		"server":    l.server,
		"redact":    l.redaction,
		"provides":  l.provides,
		"tests":     keep(&tests),
	})
	if !ok {
		return l.p
	}
	l.asks()
	if byDefault.line == 0 {
		l.wrong(root, "write default: ask, allow or deny", "default is missing: the policy has to say what becomes of a call that no rule names")
	} else {
		l.p.Default = l.verdict(byDefault, "default")
	}
	if rules.line > 0 {
		l.each(rules, "rules", l.rule)
	}
	if tests.line > 0 {
		l.each(tests, "tests", l.test)
	}
	return l.p
}

func (l *loader) verdict(at item, what string) (v Verdict) {
	if word := l.word(at, what, "allow", "ask", "deny"); word != "" {
		v = Verdict(slices.Index(verdicts, word))
	}
	return v
}

// each calls read for the elements of a list, which may be empty.
func (l *loader) each(at item, what string, read func(item)) {
	if at.form != list {
		l.wrong(at, "begin each with a dash", "%s is a list, not %s", what, at.form)
		return
	}
	for _, v := range at.values {
		read(v)
	}
}

func (l *loader) proposals(at item) {
	p := &l.p.Proposals
	l.fields(at, "proposals", map[string]func(item){
		"fulfil":            func(v item) { p.Fulfil = l.word(v, "fulfil", "ask", "policy", "never") },
		"broadcast":         func(v item) { p.Broadcast = l.boolean(v, "broadcast") },
		"reject_untargeted": func(v item) { p.RejectUntargeted = l.word(v, "reject_untargeted", "auto", "always", "never") },
	})
}

func (l *loader) server(at item) {
	s := &l.p.Server
	l.fields(at, "server", map[string]func(item){
		"pin":         func(v item) { s.Pin = l.word(v, "pin", "off", "warn", "ask", "block") },
		"pass":        l.pass,
		"trust_hints": func(v item) { s.TrustHints = l.boolean(v, "trust_hints") },
	})
}

// provides reads what the server is for.
func (l *loader) provides(at item) {
	for _, v := range l.texts(at, "provides") {
		if err := CheckWord(v.text); err != nil {
			l.wrong(v, "", "provides: %q: %v", v.text, err)
		}
		l.p.Provides = append(l.p.Provides, v.text)
	}
	if len(l.p.Provides) > mostProvided {
		l.wrong(at, "", "provides has over %d words", mostProvided)
	}
}

const mostProvided = 32

var errWord = errors.New("a word of provides has 1 to 64 of the characters A-Z a-z 0-9 : / - . _")

// CheckWord says what is wrong with a word that says what a server is for.
func CheckWord(word string) error {
	if word == "" || len(word) > 64 || strings.Trim(word, idBytes+"/:") != "" {
		return errWord
	}
	return nil
}

func (l *loader) redaction(at item) {
	r := redaction{}
	l.each(at, "redact", func(v item) {
		pattern := l.text(v, "redact")
		if !strings.Contains(pattern, "/") {
			if r.keys = append(r.keys, strings.ToLower(pattern)); fold.Name(pattern) != strings.ToLower(pattern) {
				r.keys = append(r.keys, fold.Name(pattern))
			}
			return
		}
		steps, err := pointer(pattern)
		if err != nil {
			l.wrong(v, "a key alone, like *token*, is hidden at any depth", "redact: %v", err)
		}
		r.pointers = append(r.pointers, steps)
	})
	l.p.redact = r
}

// approvers reads the groups.
func (l *loader) approvers(at item) {
	l.members(at, "approvers", func(key, v item) {
		name := key.text
		if !validID(name) || name == "local" || name == "host" {
			l.wrong(key, "", "a group is named with letters, digits, _, . and -, and neither local nor host; %q is not", name)
		}
		members := []string{}
		l.many(v, "the group "+name, func(m item) {
			if l.participant(m, "the group "+name) {
				members = append(members, m.text)
			}
		})
		l.groups[name] = members
	})
	l.nested(at)
}

// nested refuses groups within groups, which would be taken for ids.
func (l *loader) nested(at item) {
	for _, v := range at.values {
		for _, m := range append(slices.Clip(v.values), v) {
			if _, ok := l.groups[m.text]; ok && m.form == scalar {
				l.wrong(m, "name its members", "%s is a group itself; groups do not nest", m.text)
			}
		}
	}
}

// participant checks one id, "local" or "host".
func (l *loader) participant(at item, what string) bool {
	switch id := l.text(at, what); {
	case strings.ContainsAny(id, "*?"):
		l.wrong(at, "name everyone who may decide", "%s: %q is a pattern; who decides is named one by one, or callers could decide for themselves", what, id)
	case !validID(id):
		l.wrong(at, "", "%s: %q is no participant id: 1 to 64 letters, digits, _, . and -, not beginning with system", what, id)
	default:
		return true
	}
	return false
}

// people resolves the names of of and to, each once.
func (l *loader) people(at item, what string) []string {
	var all []string
	add := func(ids ...string) {
		for _, id := range ids {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
			if id != "local" && id != "host" {
				l.p.ids = append(l.p.ids, id)
			}
		}
	}
	l.many(at, what, func(v item) {
		members, group := l.groups[v.text]
		switch {
		case group && v.form == scalar:
			add(members...)
		case l.participant(v, what) && !l.misspelt(v, what):
			add(v.text)
		}
	})
	return all
}

// misspelt refuses what looks like a group but is none: as an id it would wait
// for somebody who does not exist.
func (l *loader) misspelt(at item, what string) bool {
	names := []string{"local", "host"}
	if slices.Contains(names, at.text) {
		return false
	}
	for name, members := range l.groups {
		if slices.Contains(members, at.text) {
			return false
		}
		names = append(names, name)
	}
	slices.Sort(names)
	// Ids of two letters are like too many others to be refused for that.
	names = slices.DeleteFunc(names, func(name string) bool { return max(len(name), len(at.text)) < 3 })
	near := Nearest(at.text, names)
	if near == "" {
		return false
	}
	l.wrong(at, fmt.Sprintf("did you mean %s? If it is somebody's id, list it in a group too", near), "%s: %q is no group, and too like %s for an id", what, at.text, near)
	return true
}

// longestQuestion is how long a question may wait (RELIABILITY AI-10).
const longestQuestion = 24 * time.Hour
