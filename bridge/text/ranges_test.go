package text

import "testing"

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
