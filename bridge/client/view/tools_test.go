package view_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/export"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/view"
)

// A rule about arguments put a star behind a tool that has none.
func TestNoArgumentIsDeniedOfAToolThatHasNone(t *testing.T) {
	tool := func(name, schema string) client.Tool {
		return client.Tool{Peer: "fs", Name: name, InputSchema: json.RawMessage(schema)}
	}
	standing := map[string]map[string]client.Standing{"fs": {"roots": {Word: "allow", SomeDenied: true}, "read": {Word: "ask", SomeDenied: true}}}
	none, note := view.Tools([]client.Tool{tool("roots", `{"type":"object"}`)}, standing)
	if none[1][2] != "allow" || note != "" {
		t.Errorf("%q, with a note: %q", none, note)
	}
	both, note := view.Tools([]client.Tool{tool("roots", `{}`), tool("read", `{"properties":{"path":{}}}`)}, standing)
	if both[2][2] != "ask*" || note != "* means that some arguments are denied" {
		t.Errorf("%q, with a note: %q", both, note)
	}
	json := string(export.JSON([]client.Tool{tool("roots", `{}`), tool("read", `{"properties":{"path":{}}}`), tool("odd", `{}`)}, standing))
	if !strings.Contains(json, `"for_you":"allow","some_denied":false}`) || !strings.Contains(json, `"for_you":"ask","some_denied":true}`) || strings.Count(json, "for_you") != 2 {
		t.Errorf("in JSON: %s", json)
	}
	if got := view.OfOne(both)[2]; !slices.Equal(got, []string{"read", "ask*", "[path]", ""}) {
		t.Errorf("for whoever knows whose it is: %q", got)
	}
}
