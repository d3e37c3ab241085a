package table_test

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/table"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

var rows = [][]string{
	{"PEER", "TOOL", "ARGUMENTS", "DESCRIPTION"},
	{"notes", "add_note", "text [tags] [colour]", "Keep a note, 日本語 too, and say under which number"},
	{"notes", "x\ny\x1b[2J", "", "-"},
}

func TestATableFitsAndItsNamesAreWhole(t *testing.T) {
	const whole = `PEER   TOOL              ARGUMENTS             DESCRIPTION
notes  add_note          text [tags] [colour]  Keep a note, 日本語 too, and say under which number
notes  x\u{a}y\u{1b}[2J                        -
`
	for columns, want := range map[int]string{
		0: whole, 200: whole,
		70: `PEER   TOOL              ARGUMENTS             DESCRIPTION
notes  add_note          text [tags] [colour]  Keep a note, 日本語 to…
notes  x\u{a}y\u{1b}[2J                        -
`,
		40: `PEER   TOOL              ARGUMENTS
notes  add_note          text [tags] [c…
notes  x\u{a}y\u{1b}[2J
`,
		23: `PEER   TOOL
notes  add_note
notes  x\u{a}y\u{1b}[2J
`,
		18: `PEER  TOOL
notes  add_note
notes
  x\u{a}y\u{1b}[2J
`, // the terminal broke the line, and the name in it
	} {
		if got := string(table.Draw(rows, 2, columns)); got != want {
			t.Errorf("in %d columns:\n%s", columns, got)
		}
	}
}

func TestNoWidthIsOverstepped(t *testing.T) {
	for columns := 18; columns < 100; columns++ {
		for line := range strings.Lines(string(table.Draw(rows, 2, columns))) {
			if text.Width(strings.TrimSuffix(line, "\n")) > columns {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
	}
}

// A tool's name is its server's word: no space in it makes it look like more columns.
func TestACellIsNoTwoColumns(t *testing.T) {
	got := string(table.Draw([][]string{{"TOOL", "FOR YOU", "DESCRIPTION"}, {"wipe  allow    reads a note", "deny", " x"}}, 1, 0))
	if want := "TOOL" + strings.Repeat(" ", 45) + `FOR YOU  DESCRIPTION
wipe \u{20}allow \u{20}\u{20}\u{20}reads a note  deny     \u{20}x
`; got != want {
		t.Errorf("%s", got)
	}
}

func TestAHeadAlone(t *testing.T) {
	if got := string(table.Draw([][]string{{"A", "B"}}, 1, 80)); got != "A  B\n" {
		t.Errorf("%q", got)
	}
}
