package audit

import "sync"

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
