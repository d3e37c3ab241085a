package stdio

import "testing"

// Whatever stands within a word, be it at the end of a range, the word is found where some
// reader may pass over it, and every letter of ASCII counts in either case (FINDINGS T3).
func TestAWordIsFoundWhateverStandsWithin(t *testing.T) {
	for c := range 0x20 {
		for _, word := range []string{"elicit%ation/create", "sampling%/createMessage", "Sampl%ing"} {
			line := []byte(word)
			for i := range line {
				if line[i] == '%' {
					line[i] = byte(c)
				}
			}
			if !mentions(line) {
				t.Errorf("nothing is found in %q", line)
			}
		}
	}
	for c := range byte(0x80) {
		want := ""
		if 'a' <= c|0x20 && c|0x20 <= 'z' {
			want = string(rune(c | 0x20))
		}
		if got := letters([]byte{c}); c != '\\' && got != want {
			t.Errorf("%q is read as %q, want %q", c, got, want)
		}
	}
}
