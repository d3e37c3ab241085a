package client

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// What the gateway says of another's frame under an id of ours ends nothing of ours. It may name
// nobody.
func TestTheGatewaysWordToAnotherEndsNoRequestOfOurs(t *testing.T) {
	for to, ends := range map[string]bool{`["mallory"]`: false, `["alice"]`: true, `[]`: true} {
		c, ended := New(&localgateway.Connector{}, Options{}), false
		c.SeatTaken(wire.Dialects[1], wire.Welcome{You: wire.Participant{ID: "alice"}})
		c.pending.add(&pendingAnswer{env: "e1", to: "fs", done: func(Answer) { ended = true }})
		c.Received(frame(t, `{"protocol":"mcpx/v0.1","id":"f1","ts":"2026-01-01T00:00:00Z","from":"system:gateway","to":%s,"kind":"system/error",`+
			`"correlation_id":"e1","payload":{"error":"capability_violation","message":"no"}}`, to))
		if ended != ends {
			t.Errorf("to %s ends it: %v", to, ended)
		}
	}
}
