package text

import (
	"fmt"
	"sync/atomic"
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

// What is known of a character, in one byte: its sort, and whether it is of any or
// stands on the one before it.
const (
	isHidden = 0x80
	stacks   = 0x40
)

// known holds what was found out of 256 characters each, when one of them was first
// seen: to ask the tables about each of 15 MiB of them took a second and a half, and
// everybody waited. All pages are 1.1 MiB.
var known [(unicode.MaxRune + 1) / 256]atomic.Pointer[[256]uint8]

// look is sortOf, and whether a character combines with the one before it (M).
func look(r rune) (sort mark, hidden, combines bool) {
	page := known[r>>8].Load()
	if page == nil {
		page = new([256]uint8)
		for i := range page {
			page[i] = describe(r&^0xFF + rune(i))
		}
		known[r>>8].Store(page)
	}
	is := page[r&0xFF]
	return mark(is &^ (isHidden | stacks)), is&isHidden != 0, is&stacks != 0
}

func describe(r rune) uint8 {
	sort, hidden := lookUp(r)
	is := uint8(sort)
	if hidden {
		is |= isHidden
	}
	if unicode.Is(unicode.M, r) {
		is |= stacks
	}
	return is
}

// sortOf says of what sort a character is, and whether it is of any: those
// that are not are the ones that may be seen.
func sortOf(r rune) (mark, bool) {
	if r >= ' ' && r < 0x7F {
		return 0, false
	}
	sort, hidden, _ := look(r)
	return sort, hidden
}

// lookUp asks the tables.
func lookUp(r rune) (mark, bool) {
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
