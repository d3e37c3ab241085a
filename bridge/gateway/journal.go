package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// What others can make a gateway log: who joins again and again must not fill the disk. Each
// of them has a share of the log, and all together have one; what is beyond is a detail
// (debug), and counted, and the count is what is logged.
const (
	logBurst    = 60               // lines by one at once
	logAgain    = 10 * time.Second // until one of those comes back
	logAll      = 1000             // lines by all at once
	logAllAgain = 500 * time.Millisecond
	logNames    = 1024 // who have shares of their own at one time
	sumEvery    = 10 * time.Second
	sumNames    = 16 // who are named in one sum
)

// A source is who causes a line: a participant in a topic, or for who has no seat an address.
type source struct{ topic, id, address string }

// others stand together for those for whom there is no share of their own.
var others = source{id: "others"}

// addressOf is who a connection is of while nobody knows his name.
func addressOf(conn net.Conn) source {
	if from := network(conn.RemoteAddr()); from.IsValid() {
		return source{address: from.Addr().String()}
	}
	return source{address: "unknown"}
}

func (s source) attrs() []any {
	if s.address != "" {
		return []any{"address", s.address}
	}
	return []any{"topic", s.topic, "id", s.id}
}

// A journal is the log of a gateway, as far as others cause it.
type journal struct {
	to *slog.Logger

	mu     sync.Mutex
	shares map[source]*logShare
	all    logShare
	sums   *time.Timer // nil: nothing is counted
}

// A logShare is how much of the log somebody has used. Its zero value is whole.
type logShare struct {
	spent   float64 // lines, less what has come back since
	at      time.Time
	counted int // lines that were not listed, since the last sum
	level   slog.Level
}

// comeBack gives back what has come back by now.
func (s *logShare) comeBack(now time.Time, again time.Duration) {
	s.spent = max(0, s.spent-float64(now.Sub(s.at))/float64(again))
	s.at = now
}

// say logs a line that others cause.
func (j *journal) say(level slog.Level, by source, text string, args ...any) {
	ctx := context.Background()
	if j.to.Enabled(ctx, level) && !j.listed(level, by) {
		level = slog.LevelDebug
	}
	j.to.Log(ctx, level, text, append(by.attrs(), args...)...)
}

// listed takes one line of a share. If nothing is left of that, it is counted.
func (j *journal) listed(level slog.Level, by source) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	s := j.share(now, by)
	s.comeBack(now, logAgain)
	j.all.comeBack(now, logAllAgain)
	if s.spent+1 > logBurst || j.all.spent+1 > logAll {
		s.counted, s.level = s.counted+1, max(s.level, level)
		if j.sums == nil {
			j.sums = time.AfterFunc(sumEvery, j.sumUp)
		}
		return false
	}
	s.spent++
	j.all.spent++
	return true
}

// share is the one of a source. Where there are too many, those that are whole again go; if
// none is, the rest have one together. The caller holds j.mu.
func (j *journal) share(now time.Time, by source) *logShare {
	s := j.shares[by]
	if s == nil && len(j.shares) >= logNames {
		j.letGo(now)
		if len(j.shares) >= logNames {
			by = others
			s = j.shares[by]
		}
	}
	if s != nil {
		return s
	}
	if j.shares == nil {
		j.shares = map[source]*logShare{}
	}
	s = &logShare{at: now}
	j.shares[source{strings.Clone(by.topic), strings.Clone(by.id), by.address}] = s
	return s
}

// letGo forgets the shares that are whole again. The caller holds j.mu.
func (j *journal) letGo(now time.Time) {
	maps.DeleteFunc(j.shares, func(_ source, s *logShare) bool {
		s.comeBack(now, logAgain)
		return s.spent == 0 && s.counted == 0
	})
}

// A logSum is how many lines of somebody were not listed.
type logSum struct {
	by    source
	count int
	level slog.Level
}

// sumUp logs what was counted. When it returns, that is logged, whoever has called it.
func (j *journal) sumUp() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.sums != nil {
		j.sums.Stop()
		j.sums = nil
	}
	for _, s := range j.take() {
		j.to.Log(context.Background(), s.level, "joined, left or refused, and not listed one by one", append(s.by.attrs(), "count", s.count)...)
	}
}

// take returns what was counted, the most first, beyond so many by name as one. The caller
// holds j.mu.
func (j *journal) take() (sums []logSum) {
	for by, s := range j.shares {
		if s.counted > 0 {
			sums = append(sums, logSum{by, s.counted, s.level})
			s.counted, s.level = 0, 0
		}
	}
	j.letGo(time.Now())
	slices.SortFunc(sums, func(a, b logSum) int {
		return cmp.Or(b.count-a.count, strings.Compare(a.by.topic, b.by.topic), strings.Compare(a.by.id, b.by.id), strings.Compare(a.by.address, b.by.address))
	})
	if len(sums) <= sumNames {
		return sums
	}
	rest := logSum{by: others}
	for _, s := range sums[sumNames:] {
		rest.count, rest.level = rest.count+s.count, max(rest.level, s.level)
	}
	return append(sums[:sumNames:sumNames], rest)
}
