package quota

import (
	"strings"
	"testing"
	"time"
)

// Each share at its last entry and the next one, and who is named of those who had too many (FINDINGS T3).
func TestSharesAtTheirBounds(t *testing.T) {
	now := time.Now()
	fresh := func() *Shares[string] {
		return &Shares[string]{Limits: Limits{Burst: 2, Again: time.Minute, AllBurst: 5, AllAgain: time.Minute, Names: 3, Sums: 2}, Others: "others", Compare: strings.Compare}
	}
	s := fresh()
	for n, fits := range []bool{true, true, false} {
		if s.Take(now, "ann", 0) != fits {
			t.Errorf("entry %d of one: want %v", n+1, fits)
		}
	}
	for after, fits := range map[time.Duration]bool{time.Minute - 1: false, time.Minute: true, time.Minute + 1: true} {
		s := fresh()
		for range 2 {
			s.Take(now, "ann", 0)
		}
		if s.Take(now.Add(after), "ann", 0) != fits {
			t.Errorf("one more after %v: want %v", after, fits)
		}
	}
	s = fresh()
	for n, fits := range []bool{true, true, true, true, true, false} { // of three, two each at most
		if s.Take(now, string("aabbcc"[n]), 0) != fits {
			t.Errorf("entry %d of all: want %v", n+1, fits)
		}
	}
	for names, want := range map[string]int{"ab": 2, "abc": 3, "abcd": 3} { // two are named, the rest are one
		s := fresh()
		for _, by := range names {
			for range 3 {
				s.Take(now, string(by), 0)
			}
		}
		if sums := s.Draw(now); len(sums) != want || (sums[len(sums)-1].By == "others") != (len(names) > 2) {
			t.Errorf("of %s: %v", names, sums)
		}
	}
	s = fresh() // three have shares of their own, who comes then has one with all others
	s.AllBurst = 50
	for n, fits := range []bool{true, true, true, true, true, true, true, true, false, false} {
		if s.Take(now, string("abcabcdeda"[n]), 0) != fits {
			t.Errorf("entry %d of five: want %v", n+1, fits)
		}
	}
}
