// Package fold says which names a lenient reader takes for one: DESIGN 4 refuses
// two of them side by side in what is judged, and everything that judges, redacts
// or refuses by a name asks here, so that none of them sees two names where
// another sees one (FINDINGS H1, H6).
//
// Readers differ in what they pass over. Go's encoding/json ignores case by simple
// folding (U+017F is an s, U+212A a k), others by upper or lower case (Java's
// CASE_INSENSITIVE_ORDER takes U+0131 and U+0130 for an i) or by full folding (ß
// is ss); some normalise (a full-width ｐ is a p), and what is written in C stops
// at a NUL. Two names are alike here if any of these, or several of them one after
// the other, make them equal. Invisible characters, and letters of other alphabets
// that look the same, are told apart: no reader of JSON passes over them.
package fold

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Text is a name as it is at hand.
type Text interface{ ~string | ~[]byte }

// Name returns what a name and all that are alike have in common, for maps and
// comparisons. It is no spelling to be shown. A name of lower-case ASCII is its own
// and comes back as it is, without allocation.
func Name(name string) string {
	for i := range len(name) {
		if c := name[i]; c-1 >= utf8.RuneSelf-1 || 'A' <= c && c <= 'Z' {
			return string(Append(make([]byte, 0, len(name)), name))
		}
	}
	return name
}

// Method is [Name] of a method, as to which readers pass over white space around it
// too.
func Method(name string) string {
	name, _, _ = strings.Cut(name, "\x00")
	return Name(strings.TrimSpace(name))
}

// Append appends what [Name] returns. For ASCII it only allocates where dst has no
// room.
func Append[T Text](dst []byte, name T) []byte {
	start := len(dst)
	for i := range len(name) {
		c := name[i]
		if c == 0 {
			break
		}
		if c >= utf8.RuneSelf {
			return wide(dst[:start], string(name))
		}
		dst = append(dst, Lower(c))
	}
	return dst
}

// Same reports whether two names are alike. For ASCII it does not allocate.
func Same[T, U Text](a T, b U) bool {
	if !Plain(a) || !Plain(b) {
		return string(Append(nil, a)) == string(Append(nil, b))
	}
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if Lower(a[i]) != Lower(b[i]) {
			return false
		}
	}
	return true
}

// Plain reports whether a name is ASCII without a NUL. Of such names those are
// alike that differ by the case of letters only.
func Plain[T Text](name T) bool {
	for i := range len(name) {
		if name[i]-1 >= utf8.RuneSelf-1 {
			return false
		}
	}
	return true
}

// Lower is the small letter of a capital one of ASCII.
func Lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// wide folds a name beyond ASCII. Marks are brought into one order across what
// normalising and folding read differently: U+0345 is a mark to the one and the letter
// iota to the other, so an iota takes its place among the marks around it; and
// U+0130 is an i with a dot to the one and an i to the other, so an i has no dot.
func wide(dst []byte, name string) []byte {
	name, _, _ = strings.Cut(name, "\x00")
	var room [64]byte
	dotless, marks := false, false // what the marks stand on is an i; some have to be ordered
	start := len(dst)
	last := uint8(0)
	for _, r := range string(norm.NFKD.AppendString(room[:0], name)) {
		r = oneCase(r)
		n := rank(r)
		if n == 0 {
			dotless = r == 'i'
		}
		if r == joiner || dotless && r == dot {
			continue
		}
		marks = marks || n > 0 && n < last
		last = n
		if whole := wholes[r]; r >= 'ß' && whole != "" {
			dst = append(dst, whole...)
			continue
		}
		dst = utf8.AppendRune(dst, r)
	}
	if marks {
		order(dst[start:])
	}
	return dst
}

// oneCase is for readers that compare letters in upper or lower case one by one. The
// case that Unicode folds to is another one for some letters, but as good.
func oneCase(r rune) rune {
	if r < utf8.RuneSelf {
		return rune(Lower(byte(r)))
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// wholes are the letters of which full folding makes several, and normalising none.
var wholes = map[rune]string{'ß': "ss", 'և': "եւ"}

const (
	joiner        = '\u034F' // which normalising puts into long runs of marks
	dot           = '\u0307'
	ypogegrammeni = 'ι'
)

// order sorts each run of marks in text.
func order(text []byte) {
	runes := []rune(string(text))
	for from := 0; from < len(runes); {
		to := from
		for to < len(runes) && rank(runes[to]) > 0 {
			to++
		}
		slices.SortStableFunc(runes[from:to], func(a, b rune) int { return cmp.Compare(rank(a), rank(b)) })
		from = to + 1
	}
	copy(text, string(runes))
}

// rank is where a mark stands among others on one letter (Unicode's combining
// class), 0 for a letter.
func rank(r rune) uint8 {
	switch {
	case r < 0x300:
		return 0
	case r == ypogegrammeni:
		return 240 // of U+0345
	}
	var b [utf8.UTFMax]byte
	return norm.NFKD.Properties(b[:utf8.EncodeRune(b[:], r)]).CCC()
}
