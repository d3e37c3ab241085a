package policy

import (
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
