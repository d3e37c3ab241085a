package policy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
)

// redaction is which arguments are hidden on the topic and in the audit.
type redaction struct {
	keys     globs      // folded; a key at any depth
	pointers [][]string // steps, * for any
}

// usualSecrets is what is hidden when a file does not say.
var usualSecrets = redaction{keys: globs{"*token*", "*password*", "*secret*"}}

// hides reports whether the way leads to, or through, something hidden.
func (r redaction) hides(way []string) bool {
	for i := range way {
		if r.stops(way[:i+1]) {
			return true
		}
	}
	return false
}

// stops reports whether what stands at the end of the way is hidden, whatever is
// before it. A key that is longer than any name is hidden too, since looking for
// patterns in it takes long.
func (r redaction) stops(way []string) bool {
	last := way[len(way)-1]
	if len(last) > maxName {
		return len(r.keys) > 0
	}
	if _, ok := r.keys.match(strings.ToLower(last)); ok {
		return true
	}
	if folded := fold.Name(last); !fold.Plain(last) {
		if _, ok := r.keys.match(folded); ok {
			return true
		}
	}
	return slices.ContainsFunc(r.pointers, func(p []string) bool { return leads(p, way) })
}

func leads(pointer, way []string) bool {
	return slices.EqualFunc(pointer, way, func(p, w string) bool { return p == "*" || p == w || fold.Same(p, w) })
}

var (
	hiddenValue = []byte(`"[redacted]"`)
	hiddenAll   = []byte(`{"redacted":"the arguments cannot be read"}`)
)

// Redact returns raw arguments with what the file hides replaced by the string
// "[redacted]", and everything else byte for byte. Where there is nothing to
// hide it returns args itself; of what cannot be read it shows nothing.
func (p *Policy) Redact(args []byte) []byte {
	if len(p.redact.keys)+len(p.redact.pointers) == 0 || len(args) == 0 {
		return args
	}
	root, err := readShape(args)
	if err != nil {
		return bytes.Clone(hiddenAll)
	}
	var out []byte
	from := 0
	p.redact.walk(root, nil, func(v *value) {
		out = append(append(out, args[from:v.start]...), hiddenValue...)
		from = v.end
	})
	if from == 0 {
		return args
	}
	return append(out, args[from:]...)
}

// walk calls hide for the outermost hidden values, from left to right. The way
// is only good until the next step.
func (r redaction) walk(v *value, way []string, hide func(*value)) {
	for i := range v.items {
		if here := append(way, v.step(i)); r.stops(here) {
			hide(&v.items[i])
		} else {
			r.walk(&v.items[i], here, hide)
		}
	}
}
