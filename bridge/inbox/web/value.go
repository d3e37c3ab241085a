package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// Text is shown at once up to so many characters and lines. The rest of a longer one is to
// be opened, and nobody agrees to what was not.
const (
	wholeRunes = 2000
	wholeLines = 40
	headRunes  = 300
	headLines  = 6
)

// mostMarks is how many characters of one text that cannot be seen get a mark each; it bounds
// a page, and what follows is shown in quotes, where they are \u{…}.
const mostMarks = 1000

// A tree shows the arguments of one question as what they are.
type tree struct {
	form string   // of which the boxes are that say that a long value was seen; "": there are none
	of   string   // the question, in their values
	long []string // what boxes there are
}

// arguments are all that reaches the server: what stands beside the arguments first, so
// that no number of these pushes it out of sight.
func (t *tree) arguments(v *approval.View) piece {
	if v.Args == nil {
		return t.listed(v)
	}
	var all pieces
	if len(v.Beside) > 0 {
		all = append(all, element("h3", words("Beside the arguments")), t.value(v.Beside, "params"), element("h3", words("Arguments")))
	}
	return append(all, t.value(v.Args, ""))
}

// shown is a value that may be looked at and is not answered: nothing keeps count of what was
// opened.
func (t *tree) shown(raw []byte) piece {
	t.form = ""
	return t.value(raw, "")
}

// listed are the arguments where only what may be seen of them is known.
func (t *tree) listed(v *approval.View) piece {
	if len(v.Arguments) == 0 {
		return element("p", verbatim(v.Compact))
	}
	return element("ul", class("tree"), each(v.Arguments, func(l approval.Leaf) piece {
		return element("li", element("bdi", class("key"), words(l.Name)), words(" "), element("code", words(l.Text)))
	}), when(v.More > 0, element("li", words(fmt.Sprintf("%d more values are not shown", v.More)))))
}

// value is one value and what it holds; at is its pointer.
func (t *tree) value(raw []byte, at jsontext.Pointer) piece {
	raw = raw[rawjson.Space(raw, 0):]
	switch {
	case raw[0] == '"':
		s, _ := jsonrpc.Unquote(raw)
		return t.text(s, at)
	case raw[0] != '{' && raw[0] != '[':
		return t.plain(string(bytes.TrimSpace(raw)), at)
	}
	var parts pieces
	for p := range rawjson.Parts(raw, 0) {
		parts = append(parts, element("li", key(raw[0] == '[', p.Name), words(" "), t.value(p.Of(raw), at.AppendToken(p.Name))))
	}
	if parts == nil {
		return element("span", class("none"), words(map[byte]string{'{': "{} nothing", '[': "[] an empty list"}[raw[0]]))
	}
	return element("ul", class("tree"), parts)
}

func key(index bool, s string) piece {
	if index {
		return element("span", class("index"), words(s))
	}
	return element("bdi", class("key"), seen(s))
}

// plain is a number, or true, false and null. A number may be long.
func (t *tree) plain(s string, at jsontext.Pointer) piece {
	if len(s) <= wholeRunes {
		return element("code", class("value"), verbatim(s))
	}
	return t.cut(s, utf8.RuneCountInString(s), 1, at)
}

func (t *tree) text(s string, at jsontext.Pointer) piece {
	runes, lines := utf8.RuneCountInString(s), strings.Count(s, "\n")+1
	switch {
	case runes > wholeRunes || lines > wholeLines:
		return t.cut(s, runes, lines, at)
	case lines > 1:
		return block(s)
	}
	return element("code", class("value text"), verbatim(`"`), seen(s), verbatim(`"`))
}

// block is text with its lines.
func block(s string) piece { return element("pre", class("text"), seen(s)) }

// cut is the beginning of a long text, the whole to be opened, and a box to be ticked when
// that was looked at: no browser keeps a tick for who comes back, when it may be another text.
func (t *tree) cut(s string, runes, lines int, at jsontext.Pointer) piece {
	box := t.of + "." + strconv.Itoa(len(t.long))
	t.long = append(t.long, box)
	sum := sha256.Sum256([]byte(s))
	size := fmt.Sprintf("Show all: %d characters, %s, sha256 %s", runes, text.Counted(lines, "line"), hex.EncodeToString(sum[:4]))
	return pieces{
		element("details", class("long"), attribute{"data-box", box},
			element("summary", element("span", class("head"), seen(head(s)), verbatim("…")), words(" "), element("span", class("more"), words(size))),
			block(s)),
		when(t.form != "", element("label", class("box"), element("input", attribute{"type", "checkbox"}, attribute{"name", "seen"}, attribute{"value", box}, attribute{"autocomplete", "off"},
			attribute{"form", t.form}, id("box-"+box), flag("required")), words(" I have seen all of "), element("bdi", class("key"), words(string(at))))),
	}
}

// head is how a long text begins.
func head(s string) string {
	n, lines := 0, 1
	for i, r := range s {
		if n == headRunes || lines > headLines {
			return strings.TrimRight(s[:i], " \n")
		}
		if n++; r == '\n' {
			lines++
		}
	}
	return s
}

// seen is text as a person may see it. What bridge/text does not let be seen is named in a
// mark, so that it differs from text that only says the same.
func seen(s string) piece {
	var m text.Marks
	quoted := m.AppendQuoted(nil, s)
	inner := string(quoted[1 : len(quoted)-1])
	var all pieces
	var run strings.Builder
	flush := func() {
		if run.Len() > 0 {
			all = append(all, verbatim(run.String()))
			run.Reset()
		}
	}
	for inner != "" {
		at := strings.IndexByte(inner, '\\')
		if at < 0 {
			run.WriteString(inner)
			break
		}
		if len(all) > 2*mostMarks {
			flush()
			return append(all, element("mark", words("all that follows is in quotes: ")), verbatim(`"`+inner+`"`))
		}
		run.WriteString(inner[:at])
		inner = inner[at+1:]
		switch c := inner[0]; c {
		case 'n':
			if gap := trailing(&run); gap != nil {
				flush()
				all = append(all, gap)
			}
			run.WriteByte('\n')
			inner = inner[1:]
		case 't':
			run.WriteByte('\t')
			inner = inner[1:]
		case 'r', 'u':
			flush()
			var hidden piece
			hidden, inner = marked(inner)
			all = append(all, hidden)
		default:
			run.WriteByte(c)
			inner = inner[1:]
		}
	}
	if gap := trailing(&run); gap != nil {
		flush()
		all = append(all, gap)
	}
	flush()
	return all
}

// trailing takes the space off the end of a line, and has it seen.
func trailing(line *strings.Builder) piece {
	s, found := strings.CutSuffix(line.String(), " ")
	if !found {
		return nil
	}
	line.Reset()
	line.WriteString(s)
	return element("mark", class("gap"), verbatim(" "))
}

// marked names the character that an escape stands for, and returns what follows it.
func marked(escape string) (piece, string) {
	if escape[0] == 'r' {
		return element("mark", words("CR")), escape[1:]
	}
	end := strings.IndexByte(escape, '}')
	return element("mark", words("U+"+fmt.Sprintf("%04s", strings.ToUpper(escape[2:end])))), escape[end+1:]
}
