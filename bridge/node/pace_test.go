package node

import "testing"

func TestACallCountsForAMinute(t *testing.T) {
	var p pace
	counted := uint64(3)
	for second := range 200 {
		want := 3
		switch {
		case second == 100:
			counted += 2
			want = 2
		case second > 100 && second <= 159:
			want = 2
		case second >= 60:
			want = 0
		}
		if got := p.minute(counted); got != want {
			t.Fatalf("after %d s: %d, not %d", second, got, want)
		}
		p.mark(counted)
	}
}
