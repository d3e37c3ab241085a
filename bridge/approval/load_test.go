package approval

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// thousands opens n questions of as many callers.
func thousands(s *stage, n int) {
	for i := range n {
		q := writeFile("local", "alice")
		q.Caller = fmt.Sprint("agent-", i)
		q.Envelope = fmt.Sprint("envelope-of-some-usual-length-", i)
		q.Args = fmt.Appendf(nil, `{"path":"/srv/docs/%d","content":"some text of usual length, as an agent writes it"}`, i)
		q.Terms.Within = time.Minute + time.Duration(i)*time.Millisecond
		s.d.Open(s.now, q)
	}
}

// Ten thousand questions stay within 64 MiB, the next one is turned away, and
// all of them end when their time is up (RELIABILITY section 3).
func TestTenThousandPending(t *testing.T) {
	const n = 10_000
	s := newStage(t, Options{PerApprover: n})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	thousands(s, n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d bytes for each of %d questions", held/n, n)
	if held > 64<<20 {
		t.Errorf("%d MiB for %d questions", held>>20, n)
	}
	if len(s.d.pending) != n {
		t.Fatalf("%d are pending", len(s.d.pending))
	}
	s.open(writeFile("alice"))
	s.wantEnd(Refused, Busy)

	s.now = s.now.Add(time.Hour)
	acts := s.d.Tick(s.now)
	if got := count[Settled](acts); got != n {
		t.Fatalf("%d of %d ended", got, n)
	}
	nothingLeft(t, s.d)
	s.pass(time.Hour)
	if len(s.d.late) != 0 {
		t.Errorf("%d are remembered for ever", len(s.d.late))
	}
}

// To let a question expire costs the same few allocations however many wait: no
// walk through all of them.
func TestExpiryDoesNotDependOnHowManyWait(t *testing.T) {
	cost := func(n int) float64 {
		s := newStage(t, Options{PerApprover: 20_000, MaxPending: 20_000})
		thousands(s, n)
		s.now = s.d.Next()
		for range 20 { // warm up: lists grow now and then
			s.d.Tick(s.d.Next())
		}
		return testing.AllocsPerRun(200, func() { s.d.Tick(s.d.Next()) })
	}
	few, many := cost(400), cost(10_000)
	if many > few+4 {
		t.Errorf("%.0f allocations among 400, %.0f among 10 000", few, many)
	}
}

func BenchmarkOpenAndAnswer(b *testing.B) {
	s := newStage(nil, Options{PerMinute: 1 << 30})
	for b.Loop() {
		_, acts := s.d.Open(s.now, writeFile("alice"))
		show := acts[0].(Show)
		s.verified(s.d.Answer(s.now, Answer{Who: show.To, Corr: []string{show.Ask}, ID: show.RPC, Result: []byte(approves)}))
	}
}

func BenchmarkExpireTenThousand(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := newStage(nil, Options{PerApprover: 10_000})
		thousands(s, 10_000)
		b.StartTimer()
		s.d.Tick(s.now.Add(time.Hour))
	}
}
