package grants

import (
	"slices"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// A Keeper changes the book of a bridge that lives, which holds it with [Book.Open]. Each
// change writes the file anew, whole, and waits for the disk; what was taken out of it by hand
// stays out. With an error the file is as it was.
type Keeper struct {
	Book

	mu      sync.Mutex // held while the file is written
	dropped []string   // grants that must not be written any more
}

// Add writes a yes down, unless it was dropped before, and what has ended no more.
func (k *Keeper) Add(g approval.Grant) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.Contains(k.dropped, g.ID) {
		return nil
	}
	now := time.Now()
	return k.change(func(kept []approval.Grant) []approval.Grant {
		kept = slices.DeleteFunc(kept, func(old approval.Grant) bool { return !old.Until.After(now) })
		return append(kept, g)
	})
}

// Drop takes a yes out of the file, and keeps it from being added later. It reports
// whether it was there.
func (k *Keeper) Drop(id string) (found bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Contains(k.dropped, id) {
		k.dropped = append(k.dropped, id)
	}
	err = k.change(func(kept []approval.Grant) []approval.Grant {
		rest := without(kept, []string{id})
		found = len(rest) < len(kept)
		return rest
	})
	return found, err
}
