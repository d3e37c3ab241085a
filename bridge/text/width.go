package text

import (
	"unicode"

	"golang.org/x/text/width"
)

// RuneWidth is how many columns a terminal gives to a character.
func RuneWidth(r rune) int {
	if r < 0x7F {
		return 1
	}
	switch {
	case unicode.Is(unicode.Mn, r):
		return 0
	case r >= 0x3248 && r <= 0x324F, r >= 0x4DC0 && r <= 0x4DFF: // which width does not know of, but terminals do
		return 2
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Width is how many columns a terminal gives to a line that is safe to show.
func Width(s string) (n int) {
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

// Fit cuts a line that is safe to show to so many columns, 1 at least, an ellipsis in place of
// what is left out. What is read as one character is not cut in two.
func Fit(s string, columns int) string {
	columns = max(columns, 1)
	n, end := 0, 0 // end of what leaves room for the ellipsis
	var before rune
	for i, r := range s {
		if n < columns && !joined(before, r) {
			end = i
		}
		if n += RuneWidth(r); n > columns {
			return s[:end] + "…"
		}
		before = r
	}
	return s
}

// joined reports whether r is part of what the character before it began: a mark on a letter, a
// tone of skin, the second half of a flag, a later letter of a Korean syllable. [Line] lets
// nothing else through that joins.
func joined(before, r rune) bool {
	flag := func(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }
	return unicode.Is(unicode.M, r) || r >= 0x1F3FB && r <= 0x1F3FF || flag(before) && flag(r) || r >= 0x1160 && r <= 0x11FF
}
