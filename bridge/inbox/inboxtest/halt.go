package inboxtest

import (
	"context"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

var _ inbox.Halter = (*Hall)(nil)

// Halt and Resume are those of [inbox.Halter].
func (h *Hall) Halt(_ context.Context, why inbox.Halt) (inbox.Halted, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.halted == nil {
		h.halted = &inbox.Halted{By: "local", Reason: why.Reason, Since: time.Now()}
		h.act("", h.desk.Halt(time.Now(), "halted"))
		h.Post(inbox.Event{Event: "changed", Because: inbox.WasHalted})
	}
	return *h.halted, nil
}

func (h *Hall) Resume(context.Context, string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.halted = nil
	h.act("", h.desk.Resume(time.Now()))
	h.Post(inbox.Event{Event: "changed", Because: inbox.GoesOn})
	return nil
}
