package quota

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func some() *Shares[string] {
	return &Shares[string]{Limits: Limits{Burst: 200, Again: time.Second / 2, AllBurst: 2000, AllAgain: time.Second / 10, Names: 1024, Sums: 16},
		Keep: strings.Clone, Compare: strings.Compare}
}

func TestBeyondAShareIsCountedAndNobodyElsePays(t *testing.T) {
	r := some()
	written := 0
	for i := range 4000 {
		if r.Take(start.Add(time.Duration(i)*time.Millisecond/4), "mallory", i%3) {
			written++
		}
	}
	if written < r.Burst || written > r.Burst+3 {
		t.Errorf("%d records of 4000 were written", written)
	}
	if !r.Take(start.Add(time.Second), "alice", 0) {
		t.Error("alice pays for mallory")
	}
	if got, want := r.Draw(start.Add(time.Second)), []Sum[string]{{"mallory", 4000 - written, 2}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := r.Draw(start.Add(2 * time.Second)); got != nil {
		t.Errorf("counted twice: %v", got)
	}
	if !r.Take(start.Add(2*time.Second), "mallory", 0) {
		t.Error("nothing has come back")
	}
}

func TestWhoseShareIsWholeAgainTakesNoRoom(t *testing.T) {
	r := some()
	for i := range 1000 {
		r.Take(start, fmt.Sprint(i), 0)
	}
	r.Draw(start.Add(time.Second))
	if len(r.shares) != 0 {
		t.Errorf("%d shares are kept", len(r.shares))
	}
}

// At one moment a share is so many records, and not one more.
func TestAShareIsExactlyItsBurst(t *testing.T) {
	r := some()
	for i := range r.Burst + 2 {
		if got := r.Take(start, "mallory", 0); got != (i < r.Burst) {
			t.Errorf("record %d at once: %t", i+1, got)
		}
	}
	if got, want := r.Draw(start), []Sum[string]{{"mallory", 2, 0}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Names that cost nothing had a share each, and a place in the map for good.
func TestInventedNamesHadAShareEach(t *testing.T) {
	r := some()
	written, counted := 0, 0
	for i := range 100_000 {
		if r.Take(start.Add(time.Duration(i)*time.Microsecond), fmt.Sprint("name", i), 0) {
			written++
		}
	}
	if len(r.shares) > r.Names+1 {
		t.Errorf("%d shares are kept", len(r.shares))
	}
	sums := r.Draw(start.Add(time.Second))
	for _, s := range sums {
		counted += s.Count
	}
	if written > r.AllBurst+2 || len(sums) > r.Sums+1 || written+counted != 100_000 {
		t.Errorf("%d are written, %d counted in %d sums", written, counted, len(sums))
	}
}
