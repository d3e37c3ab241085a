package text_test

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

func TestEverySpellingOfALengthOfTime(t *testing.T) {
	const day = 24 * time.Hour
	for said, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "0": 0, "-5m": -5 * time.Minute,
		"90d": 90 * day, "0.5d": 12 * time.Hour, "+1d": day, "-1d": -day, "0d": 0, "36500d": 36500 * day, "-36500d": -36500 * day,
	} {
		if got, err := text.Duration(said); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", said, got, err, want)
		}
	}
	for _, said := range []string{"", "d", "1", "1D", "1 d", "1d1h", "1h1d", "1w", "xd", "infd", "nand", "36500.1d", "-36501d", "99999999999999999999d", "1e400d"} {
		if got, err := text.Duration(said); err == nil {
			t.Errorf("%q: %v", said, got)
		}
	}
}

// Whoever reads that something is at 20:38 means the next one on the clock before them.
func TestWhenSomethingIs(t *testing.T) {
	here := time.FixedZone("here", 2*60*60)
	now := time.Date(2026, 12, 31, 23, 30, 0, 0, here)
	for want, at := range map[string]time.Time{
		"20:38":            time.Date(2026, 12, 31, 20, 38, 59, 0, here),
		"23:59":            time.Date(2026, 12, 31, 21, 59, 0, 0, time.UTC),
		"tomorrow 00:00":   time.Date(2027, 1, 1, 0, 0, 0, 0, here),
		"tomorrow 23:59":   time.Date(2027, 1, 1, 23, 59, 59, 0, here),
		"yesterday 23:31":  time.Date(2026, 12, 30, 23, 31, 0, 0, here),
		"2027-01-02 00:00": time.Date(2027, 1, 2, 0, 0, 0, 0, here),
		"2026-12-29 23:59": time.Date(2026, 12, 29, 23, 59, 0, 0, here),
		"2025-12-31 23:30": time.Date(2025, 12, 31, 23, 30, 0, 0, here),
	} {
		if got := text.Moment(at, now); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
}

func TestAMomentForThoseWhoAreElsewhere(t *testing.T) {
	now := time.Date(2026, 12, 31, 23, 30, 0, 0, time.FixedZone("here", 2*60*60))
	for want, at := range map[string]time.Time{
		"20:38:59 UTC":            time.Date(2026, 12, 31, 20, 38, 59, 0, time.UTC),
		"2027-01-01 00:00:00 UTC": time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"2025-12-31 21:30:00 UTC": time.Date(2025, 12, 31, 21, 30, 0, 0, time.UTC),
		"23:59:00 here":           time.Date(2026, 12, 31, 23, 59, 0, 0, now.Location()),
	} {
		if got := text.Exact(at, now); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
}

func TestALengthOfTimeIsSaidAsItIsWritten(t *testing.T) {
	for want, long := range map[string]time.Duration{"5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "24h": 24 * time.Hour, "4m59s": 299 * time.Second,
		"1h0m1s": 3601 * time.Second, "0s": 0, "10s": 10 * time.Second, "1.5s": 1500 * time.Millisecond, "-5m": -5 * time.Minute} {
		if got := text.Span(long); got != want {
			t.Errorf("%v: %s, want %s", long, got, want)
		}
		if back, err := text.Duration(want); err != nil || back != long {
			t.Errorf("%s is read as %v, %v", want, back, err)
		}
	}
}

func TestTheTimeThatIsLeft(t *testing.T) {
	for left, want := range map[time.Duration]string{-1: "time is up", 0: "time is up", 59 * time.Second: "0:59 left", 5 * time.Minute: "5:00 left",
		3*time.Hour + 62*time.Second: "3:01:02 left"} {
		if got := text.Left(left); got != want {
			t.Errorf("%v: %s", left, got)
		}
	}
}
