package wire

import (
	"cmp"
	"slices"
	"strings"
)

// Permits reports whether e may be sent, whatever dialect it came in: what a
// gateway asks whose participants speak several. It goes by what the frame is,
// not by how it is spelled, so that mcp-x/v0, which calls everything mcp, opens
// nothing, and a capability in the words of a seed, as mcpx.reject.proposal,
// is one for all words of the same meaning.
func (c Caps) Permits(e *Envelope) bool {
	long, short, drafts := e.names()
	if gatewayOnly(short) || e.Kind.fromGateway() || short == "" {
		return false
	}
	return !c.Stated() || slices.ContainsFunc(c.grants, func(g grant) bool {
		return g.reaches(e.To) && (g.covers(long, e.Payload) || g.covers(short, e.Payload) ||
			slices.ContainsFunc(drafts, func(name string) bool { return g.covers(name, e.Payload) }))
	})
}

// names returns what a frame is called in mcpx/v0.1, with CONTEXT where it has
// one, in mew, and in the drafts.
func (e *Envelope) names() (long, short string, drafts []string) {
	short = mew.words[e.Kind]
	switch {
	case e.Kind.refers():
		short = cmp.Or(short, e.Spelled)
		return short, short, lifecycleNames[e.Kind]
	case short == "" || strings.HasSuffix(short, "/"):
		return e.Spelled, e.Spelled, nil
	case !e.Kind.namesMethod():
		return short, short, nil
	}
	if e.Kind == Proposal {
		drafts = []string{"mcp.proposal." + e.subject(), "mcp.proposal." + e.Method, "proposal"}
	}
	if e.spelledAs(short) {
		return e.Spelled, short, drafts
	}
	return short + ":" + e.subject(), short, drafts
}

// subject is METHOD[:CONTEXT].
func (e *Envelope) subject() string {
	if e.Key == "" {
		return e.Method
	}
	return e.Method + ":" + e.Key
}

// spelledAs reports whether the kind as written is word:METHOD[:CONTEXT], so that it need not be
// put together.
func (e *Envelope) spelledAs(word string) bool {
	head, rest, says := strings.Cut(e.Spelled, ":") // mew says no method
	method, key, keyed := strings.Cut(rest, ":")
	return says && head == word && method == e.Method && key == e.Key && keyed == (e.Key != "")
}

// lifecycleNames are the kinds by which the drafts call what concerns a
// proposal.
var lifecycleNames = func() (names [kinds][]string) {
	for kind, k := range mcpx1.reads {
		if k.refers() {
			names[k] = append(names[k], kind)
		}
	}
	return names
}()
