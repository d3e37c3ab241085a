package main

import (
	"context"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// speak starts the server in this process and returns a way to call its tools.
func speak(t *testing.T) func(tool string, args map[string]any) (string, bool) {
	t.Helper()
	c, err := client.NewInProcessClient(newServer(new(notebook)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx := context.Background()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return func(tool string, args map[string]any) (string, bool) {
		t.Helper()
		res, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: args}})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return res.Content[0].(mcp.TextContent).Text, res.IsError
	}
}

func TestNotesAreKeptFoundAndForgotten(t *testing.T) {
	call := speak(t)
	for _, step := range []struct {
		tool  string
		args  map[string]any
		want  string
		wrong bool
	}{
		{"list_notes", nil, "no notes yet", false},
		{"add_note", map[string]any{"text": "water the plants"}, "kept as note 1", false},
		{"add_note", map[string]any{"text": "call Ana"}, "kept as note 2", false},
		{"list_notes", nil, "1  water the plants\n2  call Ana", false},
		{"search_notes", map[string]any{"word": "ana"}, "2  call Ana", false},
		{"search_notes", map[string]any{"word": "boat"}, "no note has that word", false},
		{"delete_note", map[string]any{"id": 1}, "note 1 is gone", false},
		{"delete_note", map[string]any{"id": 1}, "there is no note 1", true},
		{"list_notes", nil, "2  call Ana", false},
		{"long_count", map[string]any{"to": 3, "pause_ms": 0}, "counted to 3", false},
	} {
		got, wrong := call(step.tool, step.args)
		if got != step.want || wrong != step.wrong {
			t.Errorf("%s %v: %q (error %v), want %q (error %v)", step.tool, step.args, got, wrong, step.want, step.wrong)
		}
	}
}

func TestANoteNeedsText(t *testing.T) {
	if got, wrong := speak(t)("add_note", nil); !wrong || !strings.Contains(got, "text") {
		t.Errorf("%q (error %v)", got, wrong)
	}
}
