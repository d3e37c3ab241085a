package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// mostDays is a century, which a time.Duration holds.
const mostDays = 36500

// Duration reads a length of time as people write it: 30s or 1h30m, as [time.ParseDuration]
// does, or days of 24 hours, as 2d or 0.5d, a century of them at most.
func Duration(said string) (time.Duration, error) {
	days, ok := strings.CutSuffix(said, "d")
	if !ok {
		return time.ParseDuration(said)
	}
	n, err := strconv.ParseFloat(days, 64)
	long, few := Days(n)
	if err != nil || !few {
		return 0, fmt.Errorf("invalid duration %q", said)
	}
	return long, nil
}

// Days are so many days of 24 hours. It is false for more than a century of them, and for what
// is no number.
func Days(n float64) (long time.Duration, ok bool) {
	if !(math.Abs(n) <= mostDays) { // which is not so of NaN either
		return 0, false
	}
	return time.Duration(n * 24 * float64(time.Hour)), true
}

// Moment is when something is, for somebody who reads it now, on the clock of now: 20:38,
// tomorrow 20:38, yesterday 20:38, or with the date.
func Moment(at, now time.Time) string {
	at = at.In(now.Location())
	clock := at.Format("15:04")
	for days, word := range map[int]string{0: "", 1: "tomorrow ", -1: "yesterday "} {
		if now.AddDate(0, 0, days).Format(time.DateOnly) == at.Format(time.DateOnly) {
			return word + clock
		}
	}
	return at.Format(time.DateOnly) + " " + clock
}

// Exact is a moment to the second with its zone, for those whose clocks may be others: 20:38:05
// UTC, with the date if that is not the date of now on the clock of at.
func Exact(at, now time.Time) string {
	if at.Format(time.DateOnly) == now.In(at.Location()).Format(time.DateOnly) {
		return at.Format("15:04:05 MST")
	}
	return Stamp(at)
}

// Stamp is a moment as Exact has it, always with the date: 2026-03-01 20:38:05 UTC.
func Stamp(at time.Time) string { return at.Format("2006-01-02 15:04:05 MST") }

// Span is a length of time as people write it, without what is zero: 5m, 1h30m, 4m59s.
func Span(long time.Duration) string {
	said := long.String()
	if strings.HasSuffix(said, "m0s") {
		said = strings.TrimSuffix(said, "0s")
	}
	if strings.HasSuffix(said, "h0m") {
		said = strings.TrimSuffix(said, "0m")
	}
	return said
}

// Left is a time that is left, as a clock shows it, without parts of a second: 4:59 left,
// 1:04:59 left, or that time is up.
func Left(left time.Duration) string {
	if left <= 0 {
		return "time is up"
	}
	s := int(left / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d left", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d left", s/60, s%60)
}
