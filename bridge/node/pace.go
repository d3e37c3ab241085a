package node

import "sync"

// A pace is how many calls came in the last minute. The engine counts them anyway, and that is
// read each second: a call costs nothing more.
type pace struct {
	mu   sync.Mutex
	was  [60]uint64 // what had been counted, a second apart; before the start it was nothing
	next int        // of was, and so the oldest
}

// mark says what has been counted, a second after the last time.
func (p *pace) mark(counted uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.was[p.next] = counted
	p.next = (p.next + 1) % len(p.was)
}

// minute is how many of those that have been counted came in the last 60 s.
func (p *pace) minute(counted uint64) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(counted - p.was[p.next])
}
