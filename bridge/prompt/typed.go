package prompt

import "sync"

// typed are keys that nobody has taken yet. One goroutine puts, another takes: whoever reads a
// terminal never waits, for each key bears the time when it was read.
type typed struct {
	more chan struct{} // has one when there may be some to take

	mu   sync.Mutex
	keys []key
}

// mostKeys is how many may wait, of 32 bytes each.
const mostKeys = 1 << 14

func newTyped() *typed { return &typed{more: make(chan struct{}, 1)} }

// put adds keys. Where they are too many, one that is tooMany stands for all that wait and for
// these.
func (t *typed) put(keys []key) {
	if len(keys) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.keys)+len(keys) > mostKeys {
		t.keys, keys = t.keys[:0], []key{{tooMany, keys[len(keys)-1].at}}
	}
	t.keys = append(t.keys, keys...)
	t.tell()
}

// tell says that there is something to take.
func (t *typed) tell() {
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// take returns the first key; none if none waits.
func (t *typed) take() (first key, some bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.keys) == 0 {
		return key{}, false
	}
	first, t.keys = t.keys[0], t.keys[1:]
	if len(t.keys) > 0 {
		t.tell()
	}
	return first, true
}

func (t *typed) none() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.keys) == 0
}
