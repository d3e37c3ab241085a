package stdio_test

import (
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// Of each era we ask a server for the newest revision; an update of the module that
// brings a newer one is told of here.
func TestTheModuleKnowsNoRevisionThatServersAreNotAskedFor(t *testing.T) {
	if stdio.LegacyRevision != mcp.LATEST_LEGACY_PROTOCOL_VERSION || stdio.ModernRevision != mcp.LATEST_PROTOCOL_VERSION {
		t.Errorf("servers are asked for %s and %s, the module knows %s and %s",
			stdio.ModernRevision, stdio.LegacyRevision, mcp.LATEST_PROTOCOL_VERSION, mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	}
}
