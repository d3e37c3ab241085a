package jsonrpc_test

import (
	"slices"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// An update of the module that brings another revision is told of here.
func TestTheModuleKnowsTheSameRevisions(t *testing.T) {
	ours := append([]string{jsonrpc.ModernRevision}, jsonrpc.LegacyRevisions...)
	theirs := slices.Clone(mcp.ValidProtocolVersions)
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) {
		t.Errorf("we know %v, the module %v", ours, theirs)
	}
	if jsonrpc.ModernRevision != mcp.LATEST_PROTOCOL_VERSION || jsonrpc.LegacyRevision != mcp.LATEST_LEGACY_PROTOCOL_VERSION {
		t.Errorf("the newest are %s and %s, of the module %s and %s",
			jsonrpc.ModernRevision, jsonrpc.LegacyRevision, mcp.LATEST_PROTOCOL_VERSION, mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	}
}
