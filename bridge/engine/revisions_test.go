package engine

import (
	"fmt"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// A participant's initialize is answered in the revision that it asks for, if there is
// one; an update of the module that brings another is told of here.
func TestTheModuleKnowsNoRevisionThatInitializeIsNotAnsweredIn(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i, revision := range mcp.LegacyProtocolVersions() {
		s.frames = nil
		s.arrive(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"i%d","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:initialize","payload":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q}}}`, i, revision))
		s.has(s.only(), `"protocolVersion":"`+revision+`"`)
	}
}
