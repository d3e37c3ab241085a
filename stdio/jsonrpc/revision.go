package jsonrpc

// Revisions of MCP, for the rooms that may not import mcp-go: in the modern one each
// request says what its client is, in the legacy ones a client begins with initialize.
const (
	ModernRevision = "2026-07-28"
	LegacyRevision = "2025-11-25" // the newest of them
	CommonRevision = "2025-06-18" // which is said to peers: all of them know it
)

// LegacyRevisions are all that have an initialize, oldest first. Nobody may change it.
var LegacyRevisions = []string{"2024-11-05", "2025-03-26", CommonRevision, LegacyRevision}
