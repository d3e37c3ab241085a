package stdio

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// A line at its limit and beside it, where it fits into the buffer and where it does not, in the
// middle of a stream and at its end (FINDINGS T3).
func TestLinesAtTheirLimit(t *testing.T) {
	for _, limit := range []int{headSize, chunk - 1, chunk, chunk + 1, 3 * chunk} {
		for n, fits := range map[int]bool{limit - 1: true, limit: true, limit + 1: false, 4 * limit: false} {
			line := strings.Repeat("x", n)
			want := line
			if !fits {
				want = "!" + line[:headSize]
			}
			got, err := cutAll(strings.NewReader("before\n"+line+"\nafter\n"), limit)
			if err != io.EOF || len(got) != 4 || got[1] != want || got[2] != "after" {
				t.Errorf("%d bytes of %d: %d lines, %v", n, limit, len(got), err)
			}
		}
		// Far beyond, the end of the line is not waited for.
		if _, err := cutAll(strings.NewReader(strings.Repeat("x", 5*limit+2*chunk+1)), limit); !errors.Is(err, errEndless) {
			t.Errorf("a line without an end, limit %d: %v", limit, err)
		}
	}
}

// Whatever letters are written as: each end of the letters and what stands beside them, in every
// spelling of an escape.
func TestEverySpellingOfALetter(t *testing.T) {
	for r := range rune(0x80) {
		want := ""
		if lower := r | 0x20; lower >= 'a' && lower <= 'z' {
			want = string(lower)
		}
		for _, form := range []string{`\u%04x`, `\u%04X`, "%c"} {
			if text := fmt.Sprintf("x"+form+"y", r); r != '\\' && letters([]byte(text)) != "x"+want+"y" {
				t.Errorf("%q is read as %q", text, letters([]byte(text)))
			}
		}
	}
	for text, want := range map[string]string{
		`\ud835\udc1a`: "a", `\ud835\udfff`: "", `\ud835`: "", `\udc1a`: "", `\ud835\ud835\udc1a`: "a", `\ud835\uff41`: "a", `\ud7ff\udc1a`: "", `\ue000`: "", // U+1D41A is a bold a
		`\u006`: "", `\u`: "", `\`: "", `a\`: "a", `\u00/1`: "", `\u00:1`: "", `\u00g1`: "g", `\u00G1`: "g", "\\u00`1": "", `\u00@1`: "", `\U0061`: "",
		`\u0060\u0061\u007a\u007b\u0040\u0041\u005a\u005b`: "azaz", "a\x7f\u0080\u00d7b": "ab",
	} {
		if got := letters([]byte(text)); got != want {
			t.Errorf("%s is read as %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		`elicitation`: true, `ELICITATION`: true, `elicitatio\u006e`: true, `elicitatio\u006E`: true, `elicitatio\u004e`: true, `elicitatio\u004E`: true, "elicit\x1fation": true, "elicit\u0080ation": true, "\uff45licitation": true,
		`elicitatio\u006d`: false, `elicitatio\u006f`: false, `elicitatio\u006`: false, `elicit ation`: false, "elicitatio": false, `samplin\u0067`: true, "SAMPLING": true, `samplin\u0068`: false,
	} {
		if mentions([]byte(text)) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

// When a failure is forgotten, and how often there is one more start.
func TestABudgetAtItsBounds(t *testing.T) {
	now := time.Now()
	b := Budget{Restarts: 2, Window: time.Minute, First: time.Second, Most: 3 * time.Second, Healthy: time.Hour}
	for _, c := range []struct {
		after, up time.Duration // the first restart, and how long the server had been up now
		left      bool
	}{
		{time.Minute - 1, 0, false}, {time.Minute, 0, false}, {time.Minute + 1, 0, true},
		{time.Second, time.Hour - 1, false}, {time.Second, time.Hour, true}, {time.Second, time.Hour + 1, true},
	} {
		f := failures{Budget: b, at: []time.Time{now, now}}
		if _, left := f.spend(now.Add(c.after), c.up); left != c.left {
			t.Errorf("%v after the first of two, up for %v: one more %v", c.after, c.up, left)
		}
	}
	f := failures{Budget: Budget{Restarts: 4, Window: time.Minute, First: time.Second, Most: 3 * time.Second, Healthy: time.Hour}}
	for n, want := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second, 0} {
		if wait, left := f.spend(now, 0); wait != want || left != (n < 4) {
			t.Errorf("restart %d waits %v, left %v", n+1, wait, left)
		}
	}
}

// Where what is shown to people is cut.
func TestWhereWordsAreCut(t *testing.T) {
	for n, cutOff := range map[int]bool{159: false, 160: false, 161: true} {
		if got := command([]string{strings.Repeat("x", n)}); strings.HasSuffix(got, "…") != cutOff {
			t.Errorf("a command of %d: %s", n, got)
		}
	}
	for n, cutOff := range map[int]bool{headSize - 1: false, headSize: false, headSize + 1: true} {
		if got := cut([]byte(" " + strings.Repeat("x", n) + "\n")); strings.HasSuffix(got, "…") != cutOff || strings.HasPrefix(got, " ") {
			t.Errorf("a line of %d: %s", n, got)
		}
	}
	if got := command([]string{strings.Repeat("x", 159) + "é"}); got != strings.Repeat("x", 159)+"…" {
		t.Errorf("half of a character: %q", got)
	}
}
