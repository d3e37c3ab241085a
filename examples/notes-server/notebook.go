package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// A note is one thing somebody wanted to remember.
type note struct {
	id   int
	text string
}

// A notebook keeps notes, oldest first.
type notebook struct {
	mu    sync.Mutex
	last  int // id given last
	notes []note
}

func (b *notebook) add(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text, err := req.RequireString("text")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	b.notes = append(b.notes, note{b.last, text})
	return mcp.NewToolResultText(fmt.Sprintf("kept as note %d", b.last)), nil
}

func (b *notebook) list(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return b.those("no notes yet", func(note) bool { return true }), nil
}

func (b *notebook) search(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	word, err := req.RequireString("word")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return b.those("no note has that word", func(n note) bool {
		return strings.Contains(strings.ToLower(n.text), strings.ToLower(word))
	}), nil
}

func (b *notebook) delete(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	id := req.GetInt("id", 0)
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.notes)
	b.notes = slices.DeleteFunc(b.notes, func(n note) bool { return n.id == id })
	if len(b.notes) == before {
		return mcp.NewToolResultError(fmt.Sprintf("there is no note %d", id)), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("note %d is gone", id)), nil
}

// those lists the notes that pass a test, one per line.
func (b *notebook) those(none string, test func(note) bool) *mcp.CallToolResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	for _, n := range b.notes {
		if test(n) {
			lines = append(lines, fmt.Sprintf("%d  %s", n.id, n.text))
		}
	}
	if lines == nil {
		lines = []string{none}
	}
	return mcp.NewToolResultText(strings.Join(lines, "\n"))
}
