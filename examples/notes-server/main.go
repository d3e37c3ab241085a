// Notes-server is an ordinary MCP server, written with mark3labs/mcp-go. It
// keeps notes in memory and knows nothing of topics, bridges or approvals.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	if err := server.ServeStdio(newServer(new(notebook))); err != nil {
		fmt.Fprintln(os.Stderr, "notes-server:", err)
		os.Exit(1)
	}
}

func newServer(b *notebook) *server.MCPServer {
	s := server.NewMCPServer("notes", "1.0.0", server.WithToolCapabilities(true))
	s.AddTools(
		server.ServerTool{Tool: addTool, Handler: b.add},
		server.ServerTool{Tool: listTool, Handler: b.list},
		server.ServerTool{Tool: searchTool, Handler: b.search},
		server.ServerTool{Tool: deleteTool, Handler: b.delete},
		server.ServerTool{Tool: countTool, Handler: longCount},
	)
	return s
}

var (
	addTool = mcp.NewTool("add_note",
		mcp.WithDescription("Keep a note"),
		mcp.WithString("text", mcp.Required(), mcp.MinLength(1), mcp.Description("what to remember")),
		mcp.WithDestructiveHintAnnotation(false))
	listTool = mcp.NewTool("list_notes",
		mcp.WithDescription("All notes, oldest first"),
		mcp.WithReadOnlyHintAnnotation(true))
	searchTool = mcp.NewTool("search_notes",
		mcp.WithDescription("The notes that contain a word"),
		mcp.WithString("word", mcp.Required()),
		mcp.WithReadOnlyHintAnnotation(true))
	deleteTool = mcp.NewTool("delete_note",
		mcp.WithDescription("Forget a note for good"),
		mcp.WithNumber("id", mcp.Required(), mcp.Description("the number in front of the note")),
		mcp.WithDestructiveHintAnnotation(true))
	countTool = mcp.NewTool("long_count",
		mcp.WithDescription("Count slowly, reporting progress"),
		mcp.WithNumber("to", mcp.Required(), mcp.Min(1), mcp.Max(1000)),
		mcp.WithNumber("pause_ms", mcp.Min(0), mcp.Max(10_000), mcp.DefaultNumber(100)),
		mcp.WithReadOnlyHintAnnotation(true))
)

// longCount takes its time and says how far it is, if the caller wants to know.
func longCount(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	to := req.GetInt("to", 0)
	pause := time.Duration(req.GetInt("pause_ms", 100)) * time.Millisecond
	for n := 1; n <= to; n++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		if err := progress(ctx, req, n, to); err != nil {
			return nil, err
		}
	}
	return mcp.NewToolResultText(fmt.Sprintf("counted to %d", to)), nil
}

func progress(ctx context.Context, req mcp.CallToolRequest, n, of int) error {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return nil
	}
	return server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
		"progressToken": req.Params.Meta.ProgressToken, "progress": n, "total": of,
	})
}
