package hub

import (
	"context"
	"time"
)

// roomTime is how long one who comes may be held up for one who does not keep up with that.
const roomTime = 250 * time.Millisecond

// pass has a guest take a seat. Each who comes, and then goes, is a frame more for all who are here:
// where that is too much for a Crowded sink, those who come do so one at a time, and each waits first
// for there to be room. Who is served inline does not wait, as the one that it would wait for may
// wait for him.
func (t *Topic) pass(ctx context.Context, inline bool, take func()) {
	if !inline {
		select {
		case t.turnstile <- struct{}{}:
			defer func() { <-t.turnstile }()
			t.makeRoom(ctx)
		case <-ctx.Done():
		}
	}
	take()
}

// makeRoom waits for who was crowded when somebody came or went last.
func (t *Topic) makeRoom(ctx context.Context) {
	t.mu.Lock()
	m := t.crowded
	t.crowded = nil
	t.mu.Unlock()
	if m == nil {
		return
	}
	t.flush()
	ctx, cancel := context.WithTimeout(ctx, roomTime)
	defer cancel()
	m.sink.WaitForRoom(ctx)
}
