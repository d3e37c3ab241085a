package policy

import (
	"bytes"
	"slices"
	"strings"
)

// What stands in the params of a request beside what is judged as its arguments
// reaches the server as well. It is shown, hashed and recorded like an argument, and
// raises an allow to an ask, unless the owner lists it under server: {pass: […]}
// (DESIGN 4, FINDINGS H3). What the protocol itself puts there needs no leave: see
// [OfProtocol].

const (
	metaKey  = "_meta"
	passRule = "server.pass"
)

// unlisted are the members beside the arguments that the owner has not listed, as
// server.pass would name them.
func (p *Policy) unlisted(beside []byte) []string {
	if len(beside) == 0 {
		return nil
	}
	root, err := readShape(beside)
	if err != nil {
		return []string{"members that cannot be read"}
	}
	var all []string
	add := func(name string) {
		if !slices.Contains(p.Server.Pass, name) {
			all = append(all, name)
		}
	}
	for i, key := range root.keys {
		if key != metaKey {
			add(key)
			continue
		}
		if root.items[i].kind != isObject {
			all = append(all, metaKey)
		}
		for _, inner := range root.items[i].keys {
			add(metaKey + "." + inner)
		}
	}
	return all
}

// besides raises an allow, where members stand beside the arguments that the owner
// has not listed.
func (d *Decision) besides(p *Policy, beside []byte) {
	if d.Verdict != Allow {
		return
	}
	unlisted := p.unlisted(beside)
	if len(unlisted) == 0 {
		return
	}
	const most = 5
	names := make([]string, 0, most)
	for _, name := range unlisted[:min(len(unlisted), most)] {
		names = append(names, show(name))
	}
	if len(unlisted) > most {
		names = append(names, "…")
	}
	d.raise(p, Ask, passRule, "beside the arguments stand "+strings.Join(names, ", ")+", which reach the server and are not listed under server: {pass: […]}")
}

// pass reads server.pass: names of members of params, or _meta.KEY for one of _meta.
func (l *loader) pass(at item) {
	const hint = "name a member of params, like task, or _meta.KEY for one member of _meta"
	for _, v := range l.texts(at, "pass") {
		name := v.text
		_, inMeta := strings.CutPrefix(name, metaKey+".")
		switch {
		case strings.ContainsAny(name, "*?"):
			l.wrong(v, hint, "pass: %q is a pattern; what reaches the server unasked is named member by member", name)
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
