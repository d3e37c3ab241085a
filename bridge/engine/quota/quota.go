// Package quota bounds what others can make us write that leads to nothing: refusals
// and dropped frames in the record (FINDINGS M7), comings and goings in a gateway's
// log. Each of them has a share, and all together have one, for names may cost
// nothing. Beyond that it is counted, and the count is what is written. It does no I/O
// and reads no clock.
package quota

import (
	"maps"
	"slices"
	"time"
)

// Limits are the size of shares.
type Limits struct {
	Burst    int           // entries by one at once
	Again    time.Duration // until one of those comes back
	AllBurst int           // entries by all at once
	AllAgain time.Duration
	Names    int // who have shares of their own at one time
	Sums     int // who are named when sums are drawn
}

// Log is for lines that others cause in a log which people read: who comes and goes again
// and again must not fill the disk.
var Log = Limits{Burst: 60, Again: 10 * time.Second, AllBurst: 1000, AllAgain: 500 * time.Millisecond, Names: 1024, Sums: 16}

// SumEvery is how long entries beyond the shares are counted before their number is written.
const SumEvery = 10 * time.Second

// Shares are those of all who are known by a K. They are used by one goroutine at a
// time; the times they are given must not run backwards.
type Shares[K comparable] struct {
	Limits
	Others  K         // stands for all for whom there is no share of their own, together
	Keep    func(K) K // a copy that may be kept; nil for what may be kept as it is
	Compare func(a, b K) int

	shares map[K]*share
	all    share
	swept  time.Time // when it was last looked for shares that are whole
}

type share struct {
	spent   float64 // entries, less what has come back since
	at      time.Time
	counted int // beyond the share, since sums were drawn
	grade   int // the highest of what was counted
}

// A Sum is how many entries of somebody were not written one by one.
type Sum[K comparable] struct {
	By    K
	Count int
	Grade int // the highest that one of them had
}

// Take reports whether there is room for one more entry of by. If not, it is counted.
func (s *Shares[K]) Take(now time.Time, by K, grade int) bool {
	one := s.of(now, by)
	one.comeBack(now, s.Again)
	s.all.comeBack(now, s.AllAgain)
	if one.spent+1 > float64(s.Burst) || s.all.spent+1 > float64(s.AllBurst) {
		one.counted, one.grade = one.counted+1, max(one.grade, grade)
		return false
	}
	one.spent++
	s.all.spent++
	return true
}

func (s *share) comeBack(now time.Time, again time.Duration) {
	s.spent = max(0, s.spent-float64(now.Sub(s.at))/float64(again))
	s.at = now
}

// of is the share of by. Where there are too many, those that are whole again go; if
// none is, the rest have one together.
func (s *Shares[K]) of(now time.Time, by K) *share {
	one := s.shares[by]
	if one == nil && len(s.shares) >= s.Names {
		if now.Sub(s.swept) >= s.Again { // it takes a while, and would be done for each name
			s.letGo(now)
		}
		if len(s.shares) >= s.Names {
			by = s.Others
			one = s.shares[by]
		}
	}
	if one != nil {
		return one
	}
	if s.shares == nil {
		s.shares = map[K]*share{}
	}
	if s.Keep != nil {
		by = s.Keep(by)
	}
	one = &share{at: now}
	s.shares[by] = one
	return one
}

// letGo forgets the shares that are whole again.
func (s *Shares[K]) letGo(now time.Time) {
	s.swept = now
	maps.DeleteFunc(s.shares, func(_ K, one *share) bool {
		one.comeBack(now, s.Again)
		return one.spent == 0 && one.counted == 0
	})
}

// Draw returns what was counted since it was last asked, the most first, and that of
// all but the first Limits.Sums as one.
func (s *Shares[K]) Draw(now time.Time) (sums []Sum[K]) {
	for by, one := range s.shares {
		if one.counted > 0 {
			sums = append(sums, Sum[K]{by, one.counted, one.grade})
			one.counted, one.grade = 0, 0
		}
	}
	s.letGo(now)
	slices.SortFunc(sums, func(a, b Sum[K]) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return s.Compare(a.By, b.By)
	})
	if len(sums) <= s.Sums {
		return sums
	}
	rest := Sum[K]{By: s.Others}
	for _, one := range sums[s.Sums:] {
		rest.Count, rest.Grade = rest.Count+one.Count, max(rest.Grade, one.Grade)
	}
	return append(sums[:s.Sums:s.Sums], rest)
}
