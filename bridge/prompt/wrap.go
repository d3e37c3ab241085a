package prompt

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// runeWidth is how many columns a terminal gives to a character.
func runeWidth(r rune) int {
	if r < 0x7F {
		return 1
	}
	if unicode.Is(unicode.Mn, r) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

func widthOf(s string) (n int) {
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// cutTo cuts s to columns, and shows that it did.
func cutTo(s string, columns int) string {
	if widthOf(s) <= columns {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// continued stands before what a line runs over into, so that no text can look
// like a line of its own (RELIABILITY AI-15).
const continued = "  ┆ "

// wrap breaks s into lines of at most columns. It breaks anywhere: what is
// shown must not depend on spaces that somebody else has put there.
func wrap(s string, columns int) (lines []string) {
	columns = max(columns, widthOf(continued)+2)
	var b strings.Builder
	n := 0
	for _, r := range s {
		w := runeWidth(r)
		if n+w > columns {
			lines = append(lines, b.String())
			b.Reset()
			b.WriteString(continued)
			n = widthOf(continued)
		}
		b.WriteRune(r)
		n += w
	}
	return append(lines, b.String())
}

// between stands between the keys that the help names.
const between = "   "

// wrapWords breaks the bridge's own words between the keys that they name, and anywhere
// where one does not fit.
func wrapWords(s string, columns int) (lines []string) {
	line := ""
	for part := range strings.SplitSeq(s, between) {
		switch {
		case line == "":
			line = part
		case widthOf(line+between+part) <= columns:
			line += between + part
		default:
			lines = append(lines, wrap(line, columns)...)
			line = part
		}
	}
	return append(lines, wrap(line, columns)...)
}
