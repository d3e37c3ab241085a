package serve_test

import (
	"io"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/serve"
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
		told := ""
		s := serve.New(&localgateway.Connector{}, serve.Options{
			Shown: desktop.Config{Version: "test", NewID: func() string { return "x" }, Patience: time.Minute, MaxName: desktop.UsualName}, Out: io.Discard,
			Emit: func(r *record.Record) { told += r.ID + " " + r.State }, Note: func(string, string) {}, Ready: func(int) {}})
		s.Received(&e)
		if want != "" {
			want = "zoe " + want
		}
		if told != want {
			t.Errorf("%s: it is told that %q, want %q", event, told, want)
		}
	}
}
