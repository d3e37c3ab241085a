package prompt

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

func quotedLeaf(name, s string) approval.Leaf {
	var m text.Marks
	return approval.Leaf{Name: name, Text: string(m.AppendQuoted(nil, s))}
}

// page is what is shown of leaves.
func page(leaves ...approval.Leaf) (all []string) {
	addArguments(&approval.View{Arguments: leaves}, func(_ look, text string) { all = append(all, text) })
	return all[1:]
}

func TestTextIsShownAsLines(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"one line", `  /t = "one line"`},
		{"a \"b\"\n\tc\\n\r\nd \n", "  /t = 4 lines\n  │ a \"b\"\n  │ \\tc\\\\n\\r\n  │ d\\u{20}\n  │ "},
		{"x\n\u202eFacts", "  /t = 2 lines\n  │ x\n  │ \\u{202e}Facts"},
	} {
		if got := strings.Join(page(quotedLeaf("/t", c.value)), "\n"); got != c.want {
			t.Errorf("%q is shown as\n%s", c.value, got)
		}
	}
}

func TestAnEditIsShownAsWhatGoesAndWhatComes(t *testing.T) {
	const want = `  --- /edits/0/oldText
  +++ /edits/0/newText
  │ func f() {
  - \treturn 1
  + \treturn 2
  + \t// done
  │ }`
	of, by := quotedLeaf("/edits/0/oldText", "func f() {\n\treturn 1\n}"), quotedLeaf("/edits/0/newText", "func f() {\n\treturn 2\n\t// done\n}")
	for _, order := range [][]approval.Leaf{{of, by}, {by, of}} {
		if got := strings.Join(page(order...), "\n"); got != want {
			t.Errorf("it is shown as\n%s", got)
		}
	}
}

// What is no pair of texts stays what it is.
func TestOnlyTextsOfOneEditAreShownTogether(t *testing.T) {
	number := approval.Leaf{Name: "/newText", Text: "1"}
	cut := approval.Leaf{Name: "/newText", Text: `"a"…"b" (cut: …)`, Cut: true}
	for _, leaves := range [][]approval.Leaf{
		{quotedLeaf("/edits/0/oldText", "a"), quotedLeaf("/edits/1/newText", "b")}, {quotedLeaf("/oldText", "a"), quotedLeaf("/new_text", "b")},
		{quotedLeaf("/oldText", "a"), number}, {quotedLeaf("/oldText", "a"), cut}, {quotedLeaf("/oldText", "a")},
	} {
		if got := page(leaves...); len(got) != len(leaves) || !strings.HasPrefix(got[0], "  "+leaves[0].Name+" = ") {
			t.Errorf("%v is shown as\n%s", leaves, strings.Join(got, "\n"))
		}
	}
}

// readBack is the quoted text of lines behind gutters, as a person reads them.
func readBack(lines []string, gutters ...string) string {
	var all []string
	for _, line := range lines {
		for _, g := range gutters {
			if shown, ok := strings.CutPrefix(line, g); ok {
				all = append(all, strings.ReplaceAll(withSpace(shown), `"`, `\"`))
			}
		}
	}
	return `"` + strings.Join(all, `\n`) + `"`
}

func withSpace(line string) string {
	before, ok := strings.CutSuffix(line, `\u{20}`)
	if !ok || (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1 {
		return line
	}
	return before + " "
}

// Whoever reads the lines has read every byte: the value can be told from them.
func FuzzLinesHideNothing(f *testing.F) {
	f.Add("a\nb", "a\nc")
	f.Add("\\n\n\\\\\n\"\n", " \n  \n\t\r\n\\u{20}\n\\u{20} ")
	f.Add("  - x\n  + y\n  │ z", "\u202e\n\xff\n\u2028")
	f.Fuzz(func(t *testing.T, a, b string) {
		of, by := quotedLeaf("/oldText", a), quotedLeaf("/newText", b)
		if lines := page(of); len(lines) > 1 {
			if got := readBack(lines[1:], gutter); got != of.Text {
				t.Errorf("%s is read as %s", of.Text, got)
			}
		}
		both := page(of, by)
		if linesOf(&of) == nil || linesOf(&by) == nil {
			return
		}
		if got := readBack(both[2:], gutter, removed); got != of.Text {
			t.Errorf("what goes, %s, is read as %s", of.Text, got)
		}
		if got := readBack(both[2:], gutter, added); got != by.Text {
			t.Errorf("what comes, %s, is read as %s", by.Text, got)
		}
	})
}
