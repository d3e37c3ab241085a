package audit

import (
	"strings"
	"testing"
)

// A head that is read is written as it was, but for the case of its digits and
// zeros before its number.
func FuzzHead(f *testing.F) {
	digits := strings.Repeat("0a", 32)
	for _, text := range []string{"1:" + digits, "0:" + digits, "18446744073709551616:" + digits, "+1:" + digits, "01:" + digits, "1:" + digits + "0", "1:" + strings.Repeat("é", 32), "1", ":"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHead(text)
		if err != nil {
			if h != (Head{}) {
				t.Errorf("%q is %v and an error", text, h)
			}
			return
		}
		if want := strings.ToLower(strings.TrimLeft(text, "0")); h.String() != want || h.Seq == 0 {
			t.Errorf("%q is read as %s", text, h)
		}
	})
}
