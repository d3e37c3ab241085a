package desktop

import (
	"cmp"
	"slices"
	"strings"
)

// An app's page knows its server's tools and resources by the names that they have there:
// it was written for a client of that server alone. Whose page it is that asks, no client
// says. So a name as the peer has it stands for what exactly one peer has.

// An owner is a peer that has what an app asks for, and what the client calls that.
type owner struct {
	Pair
	called string
}

// bareTool finds whose tool an app calls by the name that it has at its peer. problem says
// why that is none, or nobody's in particular.
func (f *Proxy) bareTool(name string) (o owner, d *definition, problem string) {
	var all []owner
	for _, id := range f.ids() {
		pair := Pair{id, name}
		if t := f.definition(tools, pair); t != nil && !t.modelOnly && f.choice.Shows(pair) {
			all, d = append(all, owner{pair, f.outward(tools, pair)}), t
		}
	}
	o, problem = theOne("tool", name, all)
	return o, d, problem
}

// bareResource finds whose resource an app reads at the address that it has there.
func (f *Proxy) bareResource(uri string) (o owner, problem string) {
	var all []owner
	for _, id := range f.ids() {
		if pair := (Pair{id, uri}); f.choice.Shows(pair) && f.peers[id].lists.hold(uri) {
			all = append(all, owner{pair, outwardURI(pair)})
		}
	}
	return theOne("resource", uri, all)
}

func theOne(kind, name string, all []owner) (o owner, problem string) {
	switch len(all) {
	case 0:
		return o, "Unknown " + kind + ": " + clip(name, 80)
	case 1:
		return all[0], ""
	}
	var names []string
	for _, o := range all {
		names = append(names, clip(cmp.Or(o.called, o.Peer), 200))
	}
	return o, "Several participants have a " + kind + " " + clip(name, 80) + ". It is one of: " + clip(strings.Join(names, ", "), 600)
}

// hold reports whether somebody lists a resource, or a template that it comes of.
func (l *listings) hold(uri string) bool {
	return slices.ContainsFunc(l[resources].all, func(d definition) bool { return d.key == uri }) ||
		slices.ContainsFunc(l[templates].all, func(d definition) bool { return d.makes(uri) })
}

// makes reports whether an address may come of a template: it begins as all of those do,
// with a scheme at least.
func (d *definition) makes(uri string) bool {
	head, _, _ := strings.Cut(d.key, "{")
	return strings.Contains(head, ":") && strings.HasPrefix(uri, head)
}
