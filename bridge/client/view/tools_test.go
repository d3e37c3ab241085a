package view_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/view"
)

// A rule about arguments put a star behind a tool that has none.
func TestNoArgumentIsDeniedOfAToolThatHasNone(t *testing.T) {
	tool := func(name, schema string) client.Tool {
		return client.Tool{Peer: "fs", Name: name, InputSchema: json.RawMessage(schema)}
	}
	standing := map[string]map[string]string{"fs": {"roots": "allow*", "read": "ask*"}}
	none := view.Tools([]client.Tool{tool("roots", `{"type":"object"}`)}, standing)
	if none[1][2] != "allow" || view.ToolsNote(none) != "" {
		t.Errorf("%q, with a note: %q", none, view.ToolsNote(none))
	}
	both := view.Tools([]client.Tool{tool("roots", `{}`), tool("read", `{"properties":{"path":{}}}`)}, standing)
	if both[2][2] != "ask*" || view.ToolsNote(both) != "* means that some arguments are denied" {
		t.Errorf("%q, with a note: %q", both, view.ToolsNote(both))
	}
	if got := view.OfOne(both)[2]; !slices.Equal(got, []string{"read", "ask*", "[path]", ""}) {
		t.Errorf("for whoever knows whose it is: %q", got)
	}
}
