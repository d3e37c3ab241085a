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
func wrap(s string, columns int) (lines []string) {
	columns = max(columns, text.Width(continued)+2)
	var b strings.Builder
	n := 0
	for _, r := range s {
		w := text.RuneWidth(r)
		if n+w > columns {
			line, spaces := b.String(), ""
			if w > 1 || r == ' ' {
				line, spaces = unseen(line, columns-w)
			}
			lines = append(lines, line)
			b.Reset()
			b.WriteString(continued + spaces)
			n = text.Width(continued + spaces)
		}
		b.WriteRune(r)
		n += w
	}
	return append(lines, b.String())
}

// unseen cuts off the spaces that end a line, if they fit into the next. What is two columns
// wide breaks a line with a column left and one without, so nobody could tell how many spaces
// stand there.
func unseen(line string, columns int) (seen, spaces string) {
	seen = strings.TrimRight(line, " ")
	spaces = line[len(seen):]
	if text.Width(continued+spaces) > columns {
		return line, ""
	}
	return seen, spaces
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
		case text.Width(line+between+part) <= columns:
			line += between + part
		default:
			lines = append(lines, wrap(line, columns)...)
			line = part
		}
	}
	return append(lines, wrap(line, columns)...)
}
