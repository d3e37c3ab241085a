package audit

import (
	"testing"
	"time"
)

// The time is written as package time would.
func TestTheTimeOfALine(t *testing.T) {
	for _, at := range []time.Time{
		time.Unix(0, 0), time.Unix(1, 999_999_999), time.Unix(1_700_000_000, 1_000), time.Unix(1_700_000_000, 999),
		time.Date(2026, 2, 28, 23, 59, 59, 123_456_789, time.FixedZone("", 5*3600)), {},
	} {
		if got, want := string(appendTime(nil, at)), at.UTC().Format(timeForm); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
