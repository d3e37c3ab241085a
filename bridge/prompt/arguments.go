package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Text of several lines is shown as lines, each behind a gutter, so that none can look like
// a line of the bridge's own (RELIABILITY AI-15). What one cannot see stays escaped as in a
// quoted string, and no two texts look alike.
const (
	gutter  = "  │ "
	removed = "  - "
	added   = "  + "
)

// maxLines is how many lines a text may have to be shown as lines.
const maxLines = 1 << 14

func addArguments(v *approval.View, add func(look, string)) {
	if len(v.Arguments) == 0 && v.More == 0 {
		add(usual, "Arguments    "+cmp.Or(v.Compact, "none"))
		return
	}
	add(usual, "Arguments")
	for all := v.Arguments; len(all) > 0; {
		all = all[addNext(all, add):]
	}
	if v.More > 0 {
		add(alarm, fmt.Sprintf("! %d more values are not shown", v.More))
	}
}

// addNext adds the first of the leaves, or the first two if they say what takes the place of
// what, and returns how many that were.
func addNext(all []approval.Leaf, add func(look, string)) int {
	if len(all) > 1 {
		if of, by, ok := replaced(&all[0], &all[1]); ok {
			addReplaced(of, by, add)
			return 2
		}
	}
	l := &all[0]
	lines := linesOf(l)
	if len(lines) < 2 {
		add(usual, "  "+text.Cell(l.Name)+" = "+cmp.Or(l.Whole, l.Text))
		return 1
	}
	add(usual, fmt.Sprintf("  %s = %d lines", text.Cell(l.Name), len(lines)))
	addLines(usual, gutter, lines, add)
	return 1
}

func addLines(l look, before string, lines []string, add func(look, string)) {
	for _, line := range lines {
		add(l, before+line)
	}
}

// pairs are the names under which servers that edit files take what is there and what takes
// its place.
var pairs = [][2]string{{"oldText", "newText"}, {"old_text", "new_text"}, {"oldString", "newString"}, {"old_string", "new_string"}, {"old_str", "new_str"}}

// replaced reports whether one of two leaves takes the place of the other in a file, and
// which.
func replaced(a, b *approval.Leaf) (of, by *approval.Leaf, ok bool) {
	inA, nameA := cutName(a.Name)
	inB, nameB := cutName(b.Name)
	if inA != inB || linesOf(a) == nil || linesOf(b) == nil {
		return nil, nil, false
	}
	if slices.Contains(pairs, [2]string{nameB, nameA}) {
		a, b, nameA, nameB = b, a, nameB, nameA
	}
	return a, b, slices.Contains(pairs, [2]string{nameA, nameB})
}

// cutName cuts the last name off a pointer.
func cutName(pointer string) (in, name string) {
	i := strings.LastIndexByte(pointer, '/')
	return pointer[:max(i, 0)], pointer[i+1:]
}

// addReplaced shows what goes and what comes between the lines that both begin and end with.
// The old text is all lines but those that come, the new one all but those that go.
func addReplaced(of, by *approval.Leaf, add func(look, string)) {
	add(usual, "  --- "+text.Cell(of.Name))
	add(usual, "  +++ "+text.Cell(by.Name))
	goes, comes := linesOf(of), linesOf(by)
	head := common(goes, comes, func(lines []string, i int) string { return lines[i] })
	addLines(faint, gutter, goes[:head], add)
	goes, comes = goes[head:], comes[head:]
	tail := common(goes, comes, func(lines []string, i int) string { return lines[len(lines)-1-i] })
	addLines(usual, removed, goes[:len(goes)-tail], add)
	addLines(strong, added, comes[:len(comes)-tail], add)
	addLines(faint, gutter, goes[len(goes)-tail:], add)
}

// common is how many lines are equal, from the first that at gives.
func common(a, b []string, at func([]string, int) string) (n int) {
	for n < min(len(a), len(b)) && at(a, n) == at(b, n) {
		n++
	}
	return n
}

// linesOf are the lines of a string, without the quotes around it; nil for what is no string,
// is not whole, or has too many. A quote needs no escape there. A space at the end of a line
// gets one.
func linesOf(l *approval.Leaf) (lines []string) {
	quoted := cmp.Or(l.Whole, l.Text)
	if len(quoted) < 2 || quoted[0] != '"' || l.Cut && l.Whole == "" || strings.Count(quoted, `\n`) >= maxLines {
		return nil
	}
	inner := quoted[1 : len(quoted)-1]
	var line strings.Builder
	for i := 0; i < len(inner); i++ {
		c := inner[i]
		if c != '\\' {
			line.WriteByte(c)
			continue
		}
		i++
		switch inner[i] {
		case 'n':
			lines = append(lines, spaceSeen(line.String()))
			line.Reset()
		case '"':
			line.WriteByte('"')
		default:
			line.WriteString(inner[i-1 : i+1])
		}
	}
	return append(lines, spaceSeen(line.String()))
}

// spaceSeen has the last space of a line seen.
func spaceSeen(line string) string {
	if before, ok := strings.CutSuffix(line, " "); ok {
		return before + `\u{20}`
	}
	return line
}
