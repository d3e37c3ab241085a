// Package quota bounds what one participant can make a bridge write into its record
// by what leads to nothing: refusals, and frames that are dropped. Beyond its share
// they are counted, and the count is what goes on record (FINDINGS M7). Nobody's
// share is spent by another. It does no I/O and reads no clock.
package quota

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A participant may have Burst such records at once, and PerSecond more for each
// second that passes: at some 400 bytes each, 70 MB a day at the most.
const (
	Burst     = 200
	PerSecond = 2
)

// Records are the shares of all participants. The zero value is ready. It is used by
// one goroutine at a time; the times it is given must not run backwards.
type Records struct {
	shares map[string]*share
}

type share struct {
	spent   float64 // records, less what has come back since
	at      time.Time
	counted int // beyond the share, since the last Sum
}

// A Sum is how many records of a participant were not written one by one.
type Sum struct {
	From  string
	Count int
}

// Take reports whether there is room in the share of from for one more record. If
// not, it is counted.
func (r *Records) Take(now time.Time, from string) bool {
	s := r.shares[from]
	if s == nil {
		if r.shares == nil {
			r.shares = map[string]*share{}
		}
		s = &share{at: now}
		r.shares[strings.Clone(from)] = s
	}
	s.comeBack(now)
	if s.spent+1 > Burst {
		s.counted++
		return false
	}
	s.spent++
	return true
}

func (s *share) comeBack(now time.Time) {
	s.spent = max(0, s.spent-now.Sub(s.at).Seconds()*PerSecond)
	s.at = now
}

// Sums returns what was counted since it was last asked, by participant, and lets go
// of those whose share is whole again.
func (r *Records) Sums(now time.Time) (sums []Sum) {
	for _, from := range slices.Sorted(maps.Keys(r.shares)) {
		s := r.shares[from]
		if s.counted > 0 {
			sums = append(sums, Sum{from, s.counted})
			s.counted = 0
		}
		if s.comeBack(now); s.spent == 0 {
			delete(r.shares, from)
		}
	}
	return sums
}
