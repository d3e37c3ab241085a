package audit

import (
	"sync"
	"time"
)

// A notifier calls OnChange when what it was last told is true no more. One call is made
// at a time.
type notifier struct {
	tell func(error)

	mu   sync.Mutex
	told bool // of a failure
}

func (n *notifier) say(now func() error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := now(); (err != nil) != n.told {
		n.told = err != nil
		n.tell(err)
	}
}

// clocks are the wall clock and the one that never jumps, at one moment.
type clocks struct {
	wall time.Time
	mono time.Duration
}

// jump takes the time now, and says by how much the wall clock was put forward
// or back since it last did; 0 if by two seconds at most (RELIABILITY
// section 3).
func (c *clocks) jump(wall time.Time, mono time.Duration) time.Duration {
	before := *c
	*c = clocks{wall.Round(0), mono}
	if before.wall.IsZero() {
		return 0
	}
	by := c.wall.Sub(before.wall) - (mono - before.mono)
	if by.Abs() <= 2*time.Second {
		return 0
	}
	return by
}
