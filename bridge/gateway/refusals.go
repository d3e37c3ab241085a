package gateway

import "sync"

// refusals count what was refused, frames and requests, by reason.
type refusals struct {
	mu    sync.Mutex
	count map[string]int64
}

func (r *refusals) add(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count = map[string]int64{}
	}
	r.count[reason]++
}
