package policy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
)

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
	newHider(p.redact).walk(root, nil, func(v *value) {
		out = append(append(out, args[from:v.start]...), hiddenValue...)
		from = v.end
	})
	if from == 0 {
		return args
	}
	return append(out, args[from:]...)
}

// RedactScanned is [Policy.Redact] for an object that was scanned strictly, which tells
// more quickly of most that there is nothing to hide.
func (p *Policy) RedactScanned(args []byte) []byte {
	if p.redact.sparesAll(args) {
		return args
	}
	return p.Redact(args)
}

// sparesAll reports whether the name of no key could be one that is hidden. It looks at
// keys in plain ASCII alone: for others, for pointers, and for patterns that fit the number
// of a list's item, the answer is no.
func (r redaction) sparesAll(args []byte) bool {
	if len(r.pointers) > 0 || slices.ContainsFunc(r.keys, fitsNumbers) {
		return false
	}
	for {
		_, rest, any := bytes.Cut(args, []byte{'"'})
		if !any {
			return true
		}
		end := closing(rest)
		if end < 0 {
			return false
		}
		name, isKey := rest[:end], isColon(rest[end+1:])
		if isKey && (len(name) > maxName || bytes.IndexByte(name, '\\') >= 0 || !fold.Plain(string(name)) || newHider(r).names(string(name))) {
			return false
		}
		args = rest[end+1:]
	}
}

// fitsNumbers reports whether a pattern could fit a number.
func fitsNumbers(pattern string) bool { return strings.Trim(pattern, "0123456789*?") == "" }

// closing is where the quote is that ends the string which s begins with, or -1.
func closing(s []byte) int {
	for at := 0; ; at++ {
		next := bytes.IndexByte(s[at:], '"')
		if next < 0 {
			return -1
		}
		at += next
		slashes := 0
		for slashes < at && s[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at
		}
	}
}

// isColon reports whether a colon is next in JSON.
func isColon(s []byte) bool {
	s = bytes.TrimLeft(s, " \t\r\n")
	return len(s) > 0 && s[0] == ':'
}

// Hides reports whether the file hides what stands at the end of a way into the arguments.
func (p *Policy) Hides(way []string) bool { return p.redact.hides(way) }

// walk calls hide for the outermost hidden values, from left to right. The way
// is only good until the next step.
func (h *hider) walk(v *value, way []string, hide func(*value)) {
	for i := range v.items {
		if here := append(way, v.step(i)); h.stops(here) {
			hide(&v.items[i])
		} else {
			h.walk(&v.items[i], here, hide)
		}
	}
}
