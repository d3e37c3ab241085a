package table

import (
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Columns is how wide the terminal is that w is, 0 where it is none.
func Columns(w io.Writer) int {
	f, is := w.(*os.File)
	if !is {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

const (
	gap    = "  "
	fewest = 8 // what a column that is cut has at least
)

// Draw lines up rows of equally many cells, the head first, one line each. Where columns is not
// 0, cells of the last cuts columns are cut so that lines fit; of these columns the last are
// left out where there is no room. The others, in which names stand, are never cut: where they
// have no room beside each other, a row goes on in lines that begin with a gap.
func Draw(rows [][]string, cuts, columns int) []byte {
	rows = safe(rows)
	widths := widthsOf(rows)
	if whole := len(widths) - cuts; columns > 0 && beside(widths[:whole]) > columns {
		return folded(rows, whole, columns)
	} else if columns > 0 {
		widths = fitted(widths, whole, columns)
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, w := range widths {
			cell := text.Fit(row[i], w)
			line.WriteString(cell + strings.Repeat(" ", w-text.Width(cell)) + gap)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return []byte(b.String())
}

// beside is how wide cells are with the gaps between them.
func beside(widths []int) int {
	sum := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// folded are the first columns of rows, each in as many lines as it needs.
func folded(rows [][]string, whole, columns int) []byte {
	var b strings.Builder
	for _, row := range rows {
		line := row[0]
		for _, cell := range row[1:whole] {
			switch {
			case cell == "":
			case text.Width(line+gap+cell) > columns:
				b.WriteString(line + "\n")
				line = gap + cell
			default:
				line += gap + cell
			}
		}
		b.WriteString(line + "\n")
	}
	return []byte(b.String())
}

func safe(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			out[i] = append(out[i], text.Cell(cell))
		}
	}
	return out
}

func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], text.Width(cell))
		}
	}
	return widths
}

// fitted are widths with which a line has at most so many columns, the first of them as they
// were.
func fitted(widths []int, whole, columns int) []int {
	room := columns - len(gap)*(len(widths)-1)
	for _, w := range widths[:whole] {
		room -= w
	}
	last := len(widths) - 1
	cut := level(widths[whole:], room)
	if len(cut) > 0 && cut[last-whole] < min(fewest, widths[last]) {
		return fitted(widths[:last], whole, columns)
	}
	return slices.Concat(widths[:whole], cut)
}

// level cuts the widest until all together have room.
func level(widths []int, room int) []int {
	cut := slices.Clone(widths)
	sum := 0
	for _, w := range cut {
		sum += w
	}
	for ; sum > room && sum > 0; sum-- {
		cut[slices.Index(cut, slices.Max(cut))]--
	}
	return cut
}
