package approval

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// A mark is a sort of character that people cannot see or that moves what they
// see (RELIABILITY AI-15).
type mark uint8

const (
	control mark = iota
	direction
	invisible
	tag
	selector
	separator
	private
	unassigned
	combining
	broken
	sorts
)

var sortNames = [sorts]string{
	control: "control", direction: "direction-control", invisible: "invisible", tag: "tag",
	selector: "variation-selector", separator: "line-separator or odd space", private: "private-use",
	unassigned: "unassigned", combining: "stacked combining", broken: "undecodable",
}

// Marks count the characters that were shown as \u{…}.
type Marks [sorts]int

// Banner says what there was to count, one phrase for each sort; nil if
// nothing.
func (m *Marks) Banner() []string {
	var lines []string
	for sort, n := range m {
		switch n {
		case 0:
		case 1:
			lines = append(lines, "contains 1 "+sortNames[sort]+` character, shown as \u{…}`)
		default:
			lines = append(lines, fmt.Sprintf(`contains %d %s characters, shown as \u{…}`, n, sortNames[sort]))
		}
	}
	return lines
}

// Text returns s as it may be put before a person: on one line, every
// character that is not plainly visible written as \u{…}.
func Text(s string) string {
	var m Marks
	return string(m.appendText(nil, s))
}

// maxStack is how many combining characters may stand on one letter.
const maxStack = 4

// appendText is the one way by which text of others gets before people. All
// that it appends is printable; what is not it counts.
func (m *Marks) appendText(dst []byte, s string) []byte { return m.append(dst, s, appendBraced, false) }

// appendQuoted appends s like appendText, as a JSON string would be written:
// in quotes, and quotes and backslashes within it escaped.
func (m *Marks) appendQuoted(dst []byte, s string) []byte {
	return append(m.append(append(dst, '"'), s, appendBraced, true), '"')
}

// appendEscaped appends s as a real JSON string in which what people could not
// see is escaped.
func appendEscaped(dst []byte, s string) []byte {
	var m Marks
	return append(m.append(append(dst, '"'), s, appendJSONEscape, true), '"')
}

// append appends s, what must not be seen as escape writes it. quoted says
// that s stands inside quotes.
func (m *Marks) append(dst []byte, s string, escape func([]byte, rune) []byte, quoted bool) []byte {
	stack := maxStack // nothing to stand on yet
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		bad := r == utf8.RuneError && n == 1
		was := s[0]
		s = s[n:]
		switch sort, hidden := sortOf(r); {
		case bad:
			m[broken]++
			dst, stack = escape(dst, rune(was)), maxStack
		case quoted && short(r) != 0:
			dst, stack = append(dst, '\\', short(r)), maxStack
		case hidden:
			m[sort]++
			dst, stack = escape(dst, r), maxStack
		case unicode.Is(unicode.M, r):
			if stack++; stack > maxStack {
				m[combining]++
				dst = escape(dst, r)
				continue
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = utf8.AppendRune(dst, r)
			stack = maxStack
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				stack = 0
			}
		}
	}
	return dst
}

// short is how a character is escaped inside quotes, where people know it so.
func short(r rune) byte {
	switch r {
	case '"', '\\':
		return byte(r)
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	}
	return 0
}

func appendBraced(dst []byte, r rune) []byte {
	dst = append(dst, `\u{`...)
	return append(strconv.AppendInt(dst, int64(r), 16), '}')
}

func appendJSONEscape(dst []byte, r rune) []byte {
	if r <= 0xFFFF {
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	r -= 0x10000
	return fmt.Appendf(dst, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
}

// sortOf says of what sort a character is, and whether it is of any: those
// that are not are the ones that may be seen.
func sortOf(r rune) (mark, bool) {
	switch {
	case r >= ' ' && r < 0x7F:
		return 0, false
	case r < ' ' || r >= 0x7F && r < 0xA0:
		return control, true
	case r >= 0xE0000 && r <= 0xE007F:
		return tag, true
	case unicode.Is(unicode.Variation_Selector, r):
		return selector, true
	case unicode.In(r, unicode.Bidi_Control):
		return direction, true
	case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) || blank(r):
		return invisible, true
	case unicode.In(r, unicode.Zl, unicode.Zp, unicode.Zs):
		return separator, true
	case unicode.Is(unicode.Co, r):
		return private, true
	case unicode.Is(unicode.Me, r):
		return combining, true
	case !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S):
		return unassigned, true
	}
	return 0, false
}

// blank are the letters and symbols that look like nothing but are assigned as
// if they did.
func blank(r rune) bool {
	switch r {
	case 0x2800, // braille pattern blank
		0x1D159,          // musical symbol null notehead
		0x13441, 0x13442, // hieroglyph full and half blank
		0xFFFC: // object replacement
		return true
	}
	return false
}

// strip returns a person's words without what could not be seen, without white
// space around them, and at most limit characters of them (WIRE 7.2).
func strip(s string, limit int) string {
	out := make([]rune, 0, min(len(s), limit))
	for _, r := range s {
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		if _, hidden := sortOf(r); hidden || r == ' ' && len(out) == 0 {
			continue
		}
		if len(out) == limit {
			break
		}
		out = append(out, r)
	}
	for len(out) > 0 && out[len(out)-1] == ' ' {
		out = out[:len(out)-1]
	}
	return string(out)
}

// count counts what append would show as escapes, apart from stacks.
func (m *Marks) count(s string) {
	for i, r := range s {
		if r >= ' ' && r < 0x7F || r == '\n' || r == '\r' || r == '\t' {
			continue
		}
		if r == utf8.RuneError && s[i] != 0xEF {
			m[broken]++
		} else if sort, hidden := sortOf(r); hidden {
			m[sort]++
		}
	}
}
