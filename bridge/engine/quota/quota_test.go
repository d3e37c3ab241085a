package quota

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestBeyondAShareIsCountedAndNobodyElsePays(t *testing.T) {
	var r Records
	written := 0
	for i := range 4000 {
		if r.Take(start.Add(time.Duration(i)*time.Millisecond/4), "mallory") {
			written++
		}
	}
	if written < Burst || written > Burst+PerSecond+1 {
		t.Errorf("%d records of 4000 were written", written)
	}
	if !r.Take(start.Add(time.Second), "alice") {
		t.Error("alice pays for mallory")
	}
	if got, want := r.Sums(start.Add(time.Second)), []Sum{{"mallory", 4000 - written}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := r.Sums(start.Add(2 * time.Second)); got != nil {
		t.Errorf("counted twice: %v", got)
	}
	if !r.Take(start.Add(2*time.Second), "mallory") {
		t.Error("nothing has come back")
	}
}

func TestWhoseShareIsWholeAgainTakesNoRoom(t *testing.T) {
	var r Records
	for i := range 1000 {
		r.Take(start, fmt.Sprint(i))
	}
	r.Sums(start.Add(time.Second))
	if len(r.shares) != 0 {
		t.Errorf("%d shares are kept", len(r.shares))
	}
}

// At one moment a share is so many records, and not one more.
func TestAShareIsExactlyItsBurst(t *testing.T) {
	var r Records
	for i := range Burst + 2 {
		if got := r.Take(start, "mallory"); got != (i < Burst) {
			t.Errorf("record %d at once: %t", i+1, got)
		}
	}
	if got, want := r.Sums(start), []Sum{{"mallory", 2}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
