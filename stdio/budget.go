package stdio

import (
	"cmp"
	"time"
)

// A Budget bounds how often a server is started again (RELIABILITY 3). Zero
// fields mean the default named beside them.
type Budget struct {
	Restarts int           // at most so many within Window; 5. Negative: none
	Starts   int           // launches of a command that never came up; 2. An endpoint has its Restarts
	Window   time.Duration // 5 min
	First    time.Duration // wait before the first restart, doubled for each further one; 0.25 s
	Most     time.Duration // longest wait; 30 s

	// Healthy is how long a server must have been up for its earlier failures
	// to be forgotten. 1 min.
	Healthy time.Duration
}

func (b Budget) withDefaults() Budget {
	b.Restarts = max(cmp.Or(b.Restarts, 5), 0)
	b.Starts = cmp.Or(b.Starts, 2)
	b.Window = cmp.Or(b.Window, 5*time.Minute)
	b.First = cmp.Or(b.First, 250*time.Millisecond)
	b.Most = cmp.Or(b.Most, 30*time.Second)
	b.Healthy = cmp.Or(b.Healthy, time.Minute)
	return b
}

// failures is what has been spent of a budget.
type failures struct {
	Budget
	at []time.Time // of the restarts granted and not yet forgotten
}

// spend asks for one more restart, for a server that has failed now after
// being up for that long. It says how long to wait, or that nothing is left.
func (f *failures) spend(now time.Time, up time.Duration) (time.Duration, bool) {
	if up >= f.Healthy {
		f.at = f.at[:0]
	}
	for len(f.at) > 0 && now.Sub(f.at[0]) > f.Window {
		f.at = f.at[1:]
	}
	if len(f.at) >= f.Restarts {
		return 0, false
	}
	f.at = append(f.at, now)
	wait := f.First
	for range len(f.at) - 1 {
		wait = min(2*wait, f.Most)
	}
	return min(wait, f.Most), true
}
