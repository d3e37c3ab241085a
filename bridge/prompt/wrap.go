package prompt

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// continued stands before what a line runs over into, so that no text can look
// like a line of its own (RELIABILITY AI-15).
const continued = "  ┆ "

// wrap breaks s into lines of at most columns. It breaks anywhere: what is
// shown must not depend on spaces that somebody else has put there.
func wrap(s string, columns int) []string { return breakLines(s, columns, false) }

// wrapProse is wrap for all but arguments: it breaks between words where there is a space in the
// second half of a line. The space begins the next line, so that none is lost.
func wrapProse(s string, columns int) []string { return breakLines(s, columns, true) }

func breakLines(s string, columns int, words bool) (lines []string) {
	columns = max(columns, text.Width(continued)+2)
	var b strings.Builder
	n := 0
	for _, r := range s {
		w := text.RuneWidth(r)
		if n+w > columns {
			line, rest := b.String(), ""
			if words && r != ' ' {
				line, rest = carryWord(line, columns-w)
			}
			if rest == "" && (w > 1 || r == ' ') {
				line, rest = carry(line, len(line), columns-w)
			}
			lines = append(lines, line)
			b.Reset()
			b.WriteString(continued + rest)
			n = text.Width(continued + rest)
		}
		b.WriteRune(r)
		n += w
	}
	return append(lines, b.String())
}

// carryWord takes the word that ends a line into the next, if it began in the second half and
// fits there.
func carryWord(line string, columns int) (seen, rest string) {
	space := strings.LastIndexByte(line, ' ')
	if space < 0 || text.Width(line[:space]) <= columns/2 {
		return line, ""
	}
	return carry(line, space, columns)
}

// carry takes what stands from end on into the next line, with the spaces before it, if they
// fit there. What is two columns wide breaks a line with a column left and one without, so
// nobody could tell how many spaces stand there.
func carry(line string, end, columns int) (seen, rest string) {
	seen = strings.TrimRight(line[:end], " ")
	rest = line[len(seen):]
	if text.Width(continued+rest) > columns {
		return line, ""
	}
	return seen, rest
}

// between stands between the keys that the help names.
const between = "   "

// wrapWords breaks the bridge's own words between the keys that they name, and between words
// where one does not fit.
func wrapWords(s string, columns int) (lines []string) {
	line := ""
	for part := range strings.SplitSeq(s, between) {
		switch {
		case line == "":
			line = part
		case text.Width(line+between+part) <= columns:
			line += between + part
		default:
			lines = append(lines, wrapProse(line, columns)...)
			line = part
		}
	}
	return append(lines, wrapProse(line, columns)...)
}
