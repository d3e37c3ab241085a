package text

import (
	"strings"
	"testing"
)

// Each range of characters that must not be seen at both its ends, and what stands beside it
// (FINDINGS T3). The numbers are Unicode's, not ours.
func TestEveryRangeAtItsEnds(t *testing.T) {
	for _, c := range []struct {
		first, last   rune
		before, after bool // whether the neighbours are hidden too
	}{
		{0x0000, 0x001F, false, false}, // C0
		{0x007F, 0x00A0, false, false}, // DEL, C1, the no-break space
		{0x00AD, 0x00AD, false, false}, // soft hyphen
		{0x034F, 0x034F, false, false}, // combining grapheme joiner
		{0x0488, 0x0489, false, false}, // what encloses a letter
		{0x0600, 0x0605, true, false},  // Arabic signs that take what follows
		{0x061C, 0x061C, false, false}, // Arabic letter mark
		{0x115F, 0x1160, false, false}, // Hangul fillers
		{0x1680, 0x1680, false, false}, // Ogham space
		{0x17B4, 0x17B5, false, false}, // Khmer vowels that are not drawn
		{0x180B, 0x180F, false, false}, // Mongolian selectors
		{0x2000, 0x200F, true, false},  // spaces, zero width, marks of direction
		{0x2028, 0x202F, false, false}, // breaks, embeddings, the narrow space
		{0x205F, 0x206F, false, false}, // mathematical space, word joiner, isolates, deprecated
		{0x2800, 0x2800, false, false}, // blank braille
		{0x3000, 0x3000, true, false},  // ideographic space
		{0x3164, 0x3164, false, false}, // Hangul filler
		{0xD7FC, 0xF8FF, false, false}, // unassigned, halves of pairs, private use
		{0xFDD0, 0xFDEF, false, false}, // no characters
		{0xFE00, 0xFE0F, false, false}, // variation selectors
		{0xFEFF, 0xFEFF, true, true},   // byte order mark
		{0xFFA0, 0xFFA0, false, false}, // half-width filler
		{0xFFF9, 0xFFFC, true, false},  // interlinear, object replacement
		{0xFFFE, 0xFFFF, false, false}, // no characters
		{0x13441, 0x13442, false, false},
		{0x1D159, 0x1D159, false, false},
		{0x1D173, 0x1D17A, false, false}, // beams and slurs of music
		{0xE0000, 0x10FFFF, true, true},  // tags, selectors, private use, no characters
	} {
		for _, at := range []struct {
			r      rune
			hidden bool
		}{{c.first - 1, c.before}, {c.first, true}, {c.last, true}, {c.last + 1, c.after}} {
			if at.r >= 0 && at.r <= 0x10FFFF && Hidden(at.r) != at.hidden {
				t.Errorf("U+%04X: hidden %v, want %v", at.r, !at.hidden, at.hidden)
			}
		}
	}
}

// Of what sort the ends of each range are said to be: where two ranges meet, the person is told
// which of them it was.
func TestEverySortAtItsEnds(t *testing.T) {
	for sort, ends := range map[string]string{
		"control":                     "\x00\x1f\x7f\u0080\u009f",
		"line-separator or odd space": "\u00a0\u2000\u200a\u2028\u2029\u202f\u3000",
		"invisible":                   "\u200b\u200d\ufff9\ufffb\u2060\u2065\u206a\u206f",
		"direction-control":           "\u200e\u200f\u202a\u202e\u2066\u2069",
		"tag":                         "\U000e0000\U000e007f",
		"variation-selector":          "\ufe00\ufe0f\U000e0100\U000e01ef",
		"private-use":                 "\ue000\uf8ff\U000f0000\U000ffffd",
	} {
		for _, r := range ends {
			var shown, counted Marks
			shown.AppendLine(nil, string(r))
			if banner := strings.Join(shown.Banner(), "; "); banner != "contains 1 "+sort+` character, shown as \u{…}` {
				t.Errorf("U+%04X: %q, want %s", r, banner, sort)
			}
			if counted.Count(string(r)); counted != shown {
				t.Errorf("U+%04X is counted as %v, shown as %v", r, counted, shown)
			}
		}
	}
	var m Marks
	if m.Count(" ~\t\r\n\u0300\ufffd"); m != (Marks{}) {
		t.Errorf("what needs no escape is counted: %v", m)
	}
	m.Count("\xff")
	if banner := m.Banner(); len(banner) != 1 || !strings.Contains(banner[0], "undecodable") {
		t.Errorf("a byte that is no UTF-8: %q", banner)
	}
}

// Marks stand on letters and digits, and on nothing beside them in ASCII.
func TestMarksStandOnLettersAndDigitsOnly(t *testing.T) {
	for _, r := range "azAZ09é" {
		if s := string(r) + strings.Repeat("\u0301", 4); Line(s) != s || Line(s+"\u0301") != s+`\u{301}` {
			t.Errorf("marks on %q: %q", r, Line(s+"\u0301"))
		}
	}
	for _, r := range "`{@[/:~ \\„" {
		if s := string(r); Line(s+"\u0301") != s+`\u{301}` {
			t.Errorf("a mark on %q: %q", r, Line(s+"\u0301"))
		}
	}
}

// ASCII is copied without a look at the tables; at the ends of what is copied each door escapes.
func TestWhereASCIIEnds(t *testing.T) {
	for in, want := range map[string]struct{ line, json string }{
		"\x1f": {`\u{1f}`, `"\u001f"`}, " ": {" ", `" "`}, "~": {"~", `"~"`}, "\x7f": {`\u{7f}`, `"\u007f"`},
		"\uffff": {`\u{ffff}`, `"\uffff"`}, "\U00010000": {"\U00010000", "\"\U00010000\""}, "\U0001000c": {`\u{1000c}`, `"\ud800\udc0c"`}, "\U0010ffff": {`\u{10ffff}`, `"\udbff\udfff"`},
	} {
		if got := Line(in); got != want.line || Plain(in) != (in == want.line) {
			t.Errorf("%+q is shown as %+q, plain %v", in, got, Plain(in))
		}
		if got := string(AppendJSONString(nil, in)); got != want.json {
			t.Errorf("%+q is written as %+q, want %+q", in, got, want.json)
		}
		if in == "\x1f" {
			continue // no JSON
		}
		if got := string(EscapeJSON([]byte(`"` + in + `"`))); got != want.json {
			t.Errorf("%+q within JSON becomes %+q, want %+q", in, got, want.json)
		}
	}
}

// So many characters, and one more.
func TestHowLongATextMayBe(t *testing.T) {
	for in, want := range map[string][2]string{"abc": {"abc", "abc"}, "abcd": {"abcd", "abcd"}, "abcde": {"abcd…", "abcd"}, "äöüß": {"äöüß", "äöüß"}, "äöüße": {"äöüß…", "äöüß"}} {
		if got := [2]string{Cut(in, 4), Strip(in, 4)}; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{" ": "", " \n\t": "", "a ": "a", "  a": "a", "abc d": "abc"} {
		if got := Strip(in, 4); got != want {
			t.Errorf("%q is stripped to %q, want %q", in, got, want)
		}
	}
}

// Wherever it stands among letters, what must be escaped is, and nothing else.
func TestJSONIsEscapedAtEachPlace(t *testing.T) {
	for at := range 20 {
		for in, want := range map[string]string{"~": "~", "\x7f": `\u007f`, "\u0080": `\u0080`, "é": "é", "\u202e": `\u202e`, "\xff": `\ufffd`} {
			before, after := strings.Repeat("a", at), strings.Repeat("b", 20-at)
			if got := string(EscapeJSON([]byte(before + in + after))); got != before+want+after {
				t.Errorf("%q at %d: %q", in, at, got)
			}
		}
	}
}
