package prompt

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// An editor is one line that is being typed.
type editor struct {
	above   string // what stands on lines of its own before that, "" for nothing
	ask     string // what stands before it
	text    []rune
	at      int      // where the next character goes
	choices []string // that Tab goes through; nil: any text
}

func newEditor(ask, text string, choices []string) editor {
	return editor{ask: ask, text: []rune(text), at: len([]rune(text)), choices: choices}
}

// maxTyped is how long a line may get.
const maxTyped = 2000

func (e *editor) String() string { return string(e.text) }

// full reports whether there is no room for r.
func (e *editor) full(r rune) bool { return r > 0 && unicode.IsPrint(r) && len(e.text) >= maxTyped }

// key takes a key that edits.
func (e *editor) key(r rune) {
	switch r {
	case left:
		e.at = max(e.at-1, 0)
	case right:
		e.at = min(e.at+1, len(e.text))
	case home:
		e.at = 0
	case end:
		e.at = len(e.text)
	case backspace:
		if e.at > 0 {
			e.at--
			e.text = slices.Delete(e.text, e.at, e.at+1)
		}
	case del:
		if e.at < len(e.text) {
			e.text = slices.Delete(e.text, e.at, e.at+1)
		}
	case killLine:
		e.text, e.at = nil, 0
	case tabKey:
		e.choose(1)
	case up:
		e.choose(-1)
	case down:
		e.choose(1)
	default:
		if r > 0 && unicode.IsPrint(r) && !e.full(r) {
			e.text = slices.Insert(e.text, e.at, r)
			e.at++
		}
	}
}

// choose puts the next of the choices in place of what is there.
func (e *editor) choose(step int) {
	if len(e.choices) == 0 {
		return
	}
	i := slices.Index(e.choices, e.String())
	if i < 0 && step > 0 {
		i = slices.IndexFunc(e.choices, func(c string) bool { return strings.HasPrefix(c, e.String()) }) - 1
	}
	n := len(e.choices)
	*e = newEditor(e.ask, e.choices[((i+step)%n+n)%n], e.choices)
}

// line is the editor as it is seen in width columns, and where the cursor is.
// Of a long text the part around the cursor is seen.
func (e *editor) line(width int) (line string, cursor int) {
	ask := text.Fit(e.ask, max(width/2, 1))
	room := max(width-text.Width(ask)-1, 1)
	from, before := e.at, 0
	for from > 0 && before+text.RuneWidth(e.text[from-1]) <= room {
		from--
		before += text.RuneWidth(e.text[from])
	}
	to := from
	for seen := 0; to < len(e.text) && seen <= room; to++ {
		seen += text.RuneWidth(e.text[to])
	}
	return ask + text.Fit(string(e.text[from:to]), room), text.Width(ask) + before
}
