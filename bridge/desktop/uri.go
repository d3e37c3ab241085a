package desktop

import (
	"fmt"
	"strings"
)

// A resource of a peer's is mcpx://PEER/URI, with its own URI as it stands, so
// that templates can still be filled in. A peer's id has no slash. That of an app keeps
// its scheme, without which no client shows it: ui://PEER/…
const scheme = "mcpx://"

func outwardURI(p Pair) string {
	if page, ok := strings.CutPrefix(p.Name, appScheme); ok {
		return appScheme + escapeID(p.Peer) + "/" + page
	}
	return scheme + escapeID(p.Peer) + "/" + p.Name
}

// inwardURI finds whose a resource is. What it gives back is in the form that
// was given out, or it is none of ours.
func (f *Proxy) inwardURI(uri string) (p Pair, ok bool) {
	rest, ours := strings.CutPrefix(uri, scheme)
	page, isApp := strings.CutPrefix(uri, appScheme)
	if isApp {
		rest = page
	}
	id, uri, cut := strings.Cut(rest, "/")
	if !ours && !isApp || !cut || uri == "" {
		return p, false
	}
	if isApp {
		uri = appScheme + uri
	}
	for _, peer := range f.ids() {
		if escapeID(peer) == id {
			return Pair{peer, uri}, true
		}
	}
	return p, false
}

// escapeID writes an id with nothing in it that has a meaning in a URI. One that is called
// as we are has not our address ([cardURI]).
func escapeID(id string) string {
	var b strings.Builder
	for i := range len(id) {
		if c := id[i]; notInName().MatchString(string(rune(c))) && c != '.' || i == 0 && strings.EqualFold(id, "mcpx") {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
