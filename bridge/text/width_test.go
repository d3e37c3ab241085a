package text_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

func TestALineIsCutByColumnsAndNeverWithinACharacter(t *testing.T) {
	for _, c := range []struct {
		line    string
		columns int
		want    string
	}{
		{"", 1, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 1, "…"}, {"abcd", 0, "…"}, {"abcd", -1, "…"},
		{"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"日本語", 2, "…"},
		{"ae\u0301i", 3, "ae\u0301i"}, {"ae\u0301io", 3, "ae\u0301…"}, {"ae\u0301io", 2, "a…"}, {"e\u0301\u0301\u0301x", 1, "…"},
		{"a👍🏽b", 4, "a…"}, {"a🇩🇪b", 3, "a…"}, {"a\u1100\u1161b", 3, "a…"},
	} {
		if got := text.Fit(c.line, c.columns); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.line, c.columns, got, c.want)
		}
	}
}

// Terminals give these two columns: a line that is wider than it was thought to be goes on at the
// very beginning of the next, where only our own words may stand.
func TestHexagramsAndNumbersInSquaresAreWide(t *testing.T) {
	for _, s := range []string{"㉈", "㉏", "䷀", "䷿"} {
		if w := text.Width(s); w != 2 {
			t.Errorf("%s is thought to have %d columns", s, w)
		}
	}
}

// Whatever it is, it fits, begins as it did and is safe to show.
func FuzzFit(f *testing.F) {
	for _, line := range []string{"plain words", "日本語", "e\u0301\u0301", "🇩🇪🇫🇷", "👍🏽", "\x1b[2J\u202e", "\xff"} {
		f.Add(line, 3)
	}
	f.Fuzz(func(t *testing.T, s string, columns int) {
		line := text.Line(s)
		got := text.Fit(line, columns)
		if text.Width(got) > max(columns, 1) || got != line && line[:len(got)-len("…")]+"…" != got || text.Line(got) != got {
			t.Errorf("%q in %d columns is %q", line, columns, got)
		}
	})
}
