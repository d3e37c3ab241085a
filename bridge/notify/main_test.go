package notify_test

import (
	"context"
	"iter"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

func TestMain(m *testing.M) {
	watchdog.Start()
	goleak.VerifyTestMain(m)
}

// A log is what was said.
type log chan string

func (l log) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// watchers is a hall that says when somebody has begun to watch it.
type watchers struct {
	*inboxtest.Hall
	begun chan struct{}
}

func (w watchers) Watch(ctx context.Context) iter.Seq2[inbox.Event, error] {
	return func(yield func(inbox.Event, error) bool) {
		for e, err := range w.Hall.Watch(ctx) {
			if e == (inbox.Event{}) {
				w.begun <- struct{}{}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
