package policy

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// redaction is which arguments are hidden on the topic and in the audit.
type redaction struct {
	keys     globs      // lower case; a key at any depth
	pointers [][]string // steps, * for any
}

// usualSecrets is what is hidden when a file does not say.
var usualSecrets = redaction{keys: globs{"*token*", "*password*", "*secret*"}}

// hides reports whether the way leads to, or through, something hidden.
func (r redaction) hides(way []string) bool {
	for i, step := range way {
		if _, ok := r.keys.match(strings.ToLower(step)); ok {
			return true
		}
		if slices.ContainsFunc(r.pointers, func(p []string) bool { return leads(p, way[:i+1]) }) {
			return true
		}
	}
	return false
}

func leads(pointer, way []string) bool {
	return slices.EqualFunc(pointer, way, func(p, w string) bool { return p == "*" || p == w })
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

// walk calls hide for the outermost hidden values, from left to right.
func (r redaction) walk(v *value, way []string, hide func(*value)) {
	for i := range v.items {
		step := strconv.Itoa(i)
		if v.kind == isObject {
			step = v.keys[i]
		}
		if here := append(slices.Clip(way), step); r.hides(here) {
			hide(&v.items[i])
		} else {
			r.walk(&v.items[i], here, hide)
		}
	}
}
