package install

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A span is a stretch of a text, [from, to) in bytes.
type span struct{ from, to int }

func (s span) of(text []byte) string { return string(text[s.from:s.to]) }

// An edit puts something in the place of a span.
type edit struct {
	span
	with string
}

// insert is an edit that takes nothing away.
func insert(at int, with string) edit { return edit{span{at, at}, with} }

// splice carries out edits that do not overlap. Those at one place come in
// their order.
func splice(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(text[at:e.from])
		out.WriteString(e.with)
		at = e.to
	}
	out.Write(text[at:])
	return out.Bytes()
}

// newline is the line end that text uses.
func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart is where the line of an offset begins.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// indent is the white space at the beginning of the line of an offset, and
// whether nothing else stands before the offset.
func indent(text []byte, at int) (string, bool) {
	line := text[lineStart(text, at):]
	white := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	return string(white), lineStart(text, at)+len(white) >= at
}

// lineColumn counts from 1; columns are characters.
func lineColumn(text []byte, at int) (line, column int) {
	at = min(at, len(text))
	return 1 + bytes.Count(text[:at], []byte("\n")), 1 + utf8.RuneCount(text[lineStart(text, at):at])
}

// quoted writes a string so that JSON, TOML and YAML all read it as s. It must
// be valid UTF-8.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func allQuoted(ss []string) []string {
	var all []string
	for _, s := range ss {
		all = append(all, quoted(s))
	}
	return all
}

func bracketed(items []string) string { return "[" + strings.Join(allQuoted(items), ", ") + "]" }
