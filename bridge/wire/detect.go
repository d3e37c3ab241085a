package wire

import (
	"slices"
	"strings"
)

// Detect says which dialect a frame is in, as one does who hears the first
// frame of a connection (WIRE 1.4). A frame that carries no protocol is told by
// its kind; of the mew dialects it is then taken for the latest. It reports
// false for what no dialect would say, and for the bare notice
// {"error","details"}, which two of them share.
func Detect(frame []byte) (Dialect, bool) {
	latest := Dialects[len(Dialects)-1]
	if stream, _, ok := streamOf(frame); ok && stream != "" {
		return latest, true
	}
	r := reading{grammar: &mcpx0, frame: frame} // whose welcome may hold what is wrong by itself
	if err := r.scan(); err != nil && r.scanLoosely(err) != nil {
		return Dialect{}, false
	}
	if r.has(atProtocol) {
		return Lookup(r.short(atProtocol))
	}
	if kind := r.text(atKind); kind != "" {
		return dialectOf(kind)
	}
	if early := r.short(atType); early == "welcome" || early == "error" {
		return latest, true // from before the first release of meup
	}
	return Dialect{}, false
}

// dialectOf tells a dialect by the kind of a frame that does not name it.
func dialectOf(kind string) (Dialect, bool) {
	space, _, _ := strings.Cut(kind, "/")
	dotted, _, _ := strings.Cut(kind, ".")
	head, rest := splitKind(kind)
	switch {
	case mcpx0.reads[kind] != Unknown:
		return Dialects[0], true
	case rest != "" && mcpx1.reads[head] != Unknown:
		return Dialects[1], true
	case slices.Contains([]string{"mcp", "chat", "reasoning", "capability", "space", "participant", "stream", "system"}, space):
		return Dialects[len(Dialects)-1], true
	case mcpx1.reads[kind] != Unknown, dotted != kind && slices.Contains([]string{"mcp", "mcpx", "meup", "system", "chat"}, dotted):
		return Dialects[1], true
	}
	return Dialect{}, false
}
