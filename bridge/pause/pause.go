// Package pause waits for a time that a context can cut short. It starts no goroutine.
package pause

import (
	"context"
	"time"
)

// For waits for d, and reports false if ctx ended first. A d of 0 or less is over at once;
// where ctx has ended by then too, it reports either.
func For(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
