package desktop_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// A revision that an update of the module brings is not spoken by itself, and this tells
// that there is one.
func TestTheModuleKnowsNoRevisionThatServeDoesNot(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.line(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`, modernMeta)
	var m struct{ Result mcp.DiscoverResult }
	if err := json.Unmarshal([]byte(s.one()), &m); err != nil || !slices.Equal(m.Result.SupportedVersions, mcp.ValidProtocolVersions) {
		t.Errorf("serve speaks %v, the module %v (%v)", m.Result.SupportedVersions, mcp.ValidProtocolVersions, err)
	}
	for _, revision := range mcp.LegacyProtocolVersions() {
		s.line(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q}}`, revision)
		s.one(`"protocolVersion":"` + revision + `"`)
	}
}

// What a client asks for that there is not, or does not say, is answered with the newest
// revision that has an initialize.
func TestAHandshakeIsInARevisionThatHasOne(t *testing.T) {
	for _, asked := range []string{`{}`, `{"protocolVersion":7}`, `{"protocolVersion":""}`, `{"protocolVersion":"1999-01-01"}`, `{"protocolVersion":"2026-07-28"}`, `{"protocolVersion":"a\"<b"}`} {
		s := newStage(t, desktop.Config{})
		s.line(`{"jsonrpc":"2.0","id":9007199254740993,"method":"initialize","params":%s}`, asked)
		s.one(`"id":9007199254740993,`, `"protocolVersion":"2025-11-25"`, `"serverInfo":{"name":"mcpx-bridge","version":"test","title":"MCPx topic"}`)
	}
}

// A client that reads a null where nothing should be gives up.
func TestAHandshakeSaysNothingThatIsNull(t *testing.T) {
	s := newStage(t, desktop.Config{})
	for _, method := range []string{"initialize", "server/discover", "ping", "tools/list"} {
		s.line(`{"jsonrpc":"2.0","id":1,"method":%q}`, method)
	}
	for _, line := range s.heard() {
		if strings.Contains(line, "null") || strings.Contains(line, `"required":[]`) {
			t.Error(line)
		}
	}
}
