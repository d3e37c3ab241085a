package main

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// That somebody was invited, or does what nobody has heard of yet, is no joining
// (FINDINGS D11, D19): serve asked who was not there for tools.
func TestOnlyAJoinIsAJoin(t *testing.T) {
	for event, want := range map[string]string{"join": "joined", "leave": "left", "invited": "", "heartbeat": "", "promoted": ""} {
		frame := []byte(`{"protocol":"mcpx/v0.1","id":"p-1","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"` + event + `","participant":{"id":"zoe"}}}`)
		e, err := wire.Dialects[1].Decode(frame)
		if err != nil {
			t.Fatal(err)
		}
		if what, who := moved(&e); what != want || want != "" && who.ID != "zoe" {
			t.Errorf("%s is %q of %q", event, what, who.ID)
		}
	}
}
