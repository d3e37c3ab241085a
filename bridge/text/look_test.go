package text

import (
	"testing"
	"unicode"
)

// What is remembered of a character is what the tables say of it, for all there are.
func TestWhatIsRememberedOfACharacterIsWhatTheTablesSay(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		sort, hidden, combines := look(r)
		if s, h := lookUp(r); s != sort || h != hidden || combines != unicode.Is(unicode.M, r) {
			t.Fatalf("U+%04X: %v %v %v, want %v %v", r, sort, hidden, combines, s, h)
		}
	}
}
