package text

import (
	"fmt"
	"unicode"
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

// Hidden reports whether a character must not be put before a person as it is.
func Hidden(r rune) bool {
	_, hidden := sortOf(r)
	return hidden
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
