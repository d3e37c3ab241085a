package policy

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
)

// Load reads a policy file, YAML or JSON. It refuses everything that it does
// not know or that could be read in two ways: the error is a *LoadError. The
// name is for errors only.
func Load(name string, data []byte) (*Policy, error) {
	l := new(loader)
	root, refused := parse(data)
	var p *Policy
	if refused == nil {
		p = l.policy(root)
		p.source = slices.Clone(data)
		refused = l.first()
	}
	if refused == nil {
		return p, nil
	}
	refused.File = name
	for _, more := range refused.More {
		more.File = name
	}
	return nil, refused
}

// policy reads the whole file. Groups and asks come first, whatever their
// place, because rules speak of them.
func (l *loader) policy(root item) *Policy {
	l.p = &Policy{
		Proposals: Proposals{Fulfil: "ask", RejectUntargeted: "auto"},
		Server:    Server{Pin: "ask"},
		redact:    usualSecrets,
	}
	l.groups, l.named, l.terms, l.taken = map[string][]string{}, map[string]item{}, map[string]*Terms{}, taken{}
	var rules, tests, notify, byDefault item
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
		"notify":    keep(&notify),
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
	if notify.line > 0 {
		l.notify(notify)
	}
	if tests.line > 0 {
		l.each(tests, "tests", l.test)
	}
	return l.p
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
	if len(l.p.Provides) > maxProvided {
		l.wrong(at, "", "provides has over %d words", maxProvided)
	}
}

const maxProvided = 32

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
		if !validID(name) || IsDoor(name) {
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

// pass reads server.pass: names of members of params, or _meta.KEY for one of _meta.
func (l *loader) pass(at item) {
	const hint = "name a member of params, like task, or _meta.KEY for one member of _meta"
	for _, v := range l.texts(at, "pass") {
		name := v.text
		_, inMeta := strings.CutPrefix(name, metaKey+".")
		switch {
		case strings.ContainsAny(name, "*?"):
			l.wrong(v, hint, "pass: %q is a pattern; name each member that may reach the server unasked", name)
		case name == metaKey || name == metaKey+".":
			l.wrong(v, hint, "pass: %s as a whole cannot pass", metaKey)
		case !inMeta && slices.Contains([]string{"name", "arguments", "uri"}, name):
			l.wrong(v, hint, "pass: %s is what rules judge, so it never stands beside it", name)
		case name == metaKey+".progressToken":
			l.wrong(v, "leave it out", "pass: %s is the protocol's own and passes anyway", name)
		case bytes.ContainsAny([]byte(name), "\x00\n\r"):
			l.wrong(v, hint, "pass: %q is no name", name)
		default:
			l.p.Server.Pass = append(l.p.Server.Pass, name)
		}
	}
}
