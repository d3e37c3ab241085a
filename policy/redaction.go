package policy

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
)

// redaction is which arguments are hidden on the topic and in the audit.
type redaction struct {
	keys     globs      // folded; a key at any depth
	pointers [][]string // steps, * for any
}

// patterns are the keys and pointers as a file spells them.
func (r redaction) patterns() []string {
	all := slices.Clone([]string(r.keys))
	for _, way := range r.pointers {
		var pointer jsontext.Pointer
		for _, name := range way {
			pointer = pointer.AppendToken(name)
		}
		all = append(all, string(pointer))
	}
	return all
}

// usualSecrets is what is hidden when a file does not say.
var usualSecrets = redaction{keys: globs{"*token*", "*password*", "*secret*"}}

// hides reports whether the way leads to, or through, something hidden.
func (r redaction) hides(way []string) bool {
	h := newHider(r)
	for i := range way {
		if h.stops(way[:i+1]) {
			return true
		}
	}
	return false
}

// A hider goes through arguments with a redaction. To fold a name beyond ASCII takes
// its time, so it does that once for each, and for no more than [maxFolded] bytes of
// them: what stands behind others is hidden (FINDINGS M3).
type hider struct {
	redaction
	named  map[string]bool // names beyond ASCII, and whether the keys hide them
	folded map[string]string
	left   int // bytes that may still be folded
}

func newHider(r redaction) *hider {
	return &hider{redaction: r, left: maxFolded}
}

// stops reports whether what stands at the end of the way is hidden, whatever is
// before it. A key that is longer than any name is hidden too, since looking for
// patterns in it takes long, and some readers take it for a shorter one.
func (h *hider) stops(way []string) bool {
	last := way[len(way)-1]
	if len(last) > maxName {
		return len(h.keys)+len(h.pointers) > 0
	}
	return h.names(last) || slices.ContainsFunc(h.pointers, func(p []string) bool { return h.leads(p, way) })
}

// names reports whether the keys hide what has this name.
func (h *hider) names(name string) bool {
	if len(h.keys) == 0 {
		return false
	}
	if fold.Plain(name) {
		_, ok := h.keys.match(strings.ToLower(name))
		return ok
	}
	hidden, known := h.named[name]
	if known {
		return hidden
	}
	folded, ok := h.fold(name)
	if !ok {
		return true
	}
	_, lower := h.keys.match(strings.ToLower(name))
	_, alike := h.keys.match(folded)
	if h.named == nil {
		h.named = map[string]bool{}
	}
	h.named[name] = lower || alike
	return lower || alike
}

func (h *hider) leads(pointer, way []string) bool {
	return slices.EqualFunc(pointer, way, func(p, w string) bool { return p == "*" || p == w || h.same(p, w) })
}

// same is [fold.Same] for a step of a pointer and one of the way, and true where that
// cannot be told any more.
func (h *hider) same(p, w string) bool {
	if fold.Plain(w) {
		return fold.Same(p, w)
	}
	folded, ok := h.fold(w)
	return !ok || folded == fold.Name(p)
}

// fold is [fold.Name] of a name beyond ASCII, and false where too many were folded.
func (h *hider) fold(name string) (string, bool) {
	if folded, known := h.folded[name]; known {
		return folded, true
	}
	if len(name) > h.left {
		return "", false
	}
	h.left -= len(name)
	if h.folded == nil {
		h.folded = map[string]string{}
	}
	folded := fold.Name(name)
	h.folded[name] = folded
	return folded, true
}
