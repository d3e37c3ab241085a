package desktop_test

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// person answers what the client is asked.
type person struct{ asked []string }

func (p *person) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	p.asked = append(p.asked, r.Params.Message)
	result := &mcp.ElicitationResult{}
	result.Action, result.Content = mcp.ElicitationResponseActionAccept, map[string]any{"decision": "allow"}
	return result, nil
}

// A client of another make, in both eras.
func TestAClientOfAnotherMake(t *testing.T) {
	for revision, asks := range map[string]string{"2025-06-18": "2025-06-18", mcp.LATEST_PROTOCOL_VERSION: mcp.LATEST_PROTOCOL_VERSION} {
		t.Run(revision, func(t *testing.T) {
			l := connect(t, "")
			who := &person{}
			c := client.NewClient(transport.NewIO(l.raw, l.in, io.NopCloser(strings.NewReader(""))), client.WithElicitationHandler(who), client.WithProtocolVersion(asks))
			changed := make(chan struct{}, 10)
			c.OnNotification(func(n mcp.JSONRPCNotification) {
				if n.Method == "notifications/tools/list_changed" {
					changed <- struct{}{}
				}
			})
			if err := c.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			begin := mcp.InitializeRequest{}
			begin.Params.ProtocolVersion, begin.Params.ClientInfo = asks, mcp.Implementation{Name: "other", Version: "1"}
			if _, err := c.Initialize(t.Context(), begin); err != nil {
				t.Fatal(err)
			}
			use(t, l, c)
			if revision == "2025-06-18" { // the other has to listen for it
				l.server.Step(desktop.Came{Peer: desktop.Peer{ID: "new"}})
				<-changed
			}
			c.Close()
			l.over(t)
			if len(who.asked) != 1 || !strings.Contains(who.asked[0], "bob wants rm q1") {
				t.Errorf("asked: %q", who.asked)
			}
			if len(l.yes) != 1 || !l.yes[0].Reply.Allow {
				t.Errorf("decided: %v", l.yes)
			}
		})
	}
}

func use(t *testing.T, l *line, c *client.Client) {
	t.Helper()
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil || !slices.ContainsFunc(list.Tools, func(tool mcp.Tool) bool { return tool.Name == "fs__echo" }) {
		t.Fatalf("tools: %v %v", list, err)
	}
	l.server.Step(question("q1"))
	approvals := mcp.CallToolRequest{}
	approvals.Params.Name = "mcpx_approvals"
	got, err := c.CallTool(t.Context(), approvals)
	if err != nil || got.IsError || !strings.Contains(got.Content[0].(mcp.TextContent).Text, "[d-q1] allowed") {
		t.Fatalf("approvals: %v %v", got, err)
	}
	unknown := mcp.CallToolRequest{}
	unknown.Params.Name = "fs__nothing"
	if _, err := c.CallTool(t.Context(), unknown); err == nil || !strings.Contains(err.Error(), "Unknown tool") {
		t.Errorf("an unknown tool: %v", err)
	}
}

// One definition of a peer's kept a client of another make from seeing any tool, as it
// refuses a list with an entry that it cannot read.
func TestOneDefinitionKeptAStockClientFromTheList(t *testing.T) {
	for _, odd := range []string{`"defer_loading":"yes"`, `"defer_loading":null,"execution":7`, `"inputSchema":{"type":"object","$defs":[]}`, `"inputSchema":{"type":"object","definitions":7}`,
		`"outputSchema":{"type":"object","$defs":[]}`, `"annotations":{"readOnlyHint":"no"}`, `"icons":{}`, `"_meta":[]`, `"title":7`} {
		s := newStage(t, desktop.Config{})
		s.join(map[string][]string{"fs": {tool("echo"), `{"name":"odd",` + odd + `}`}})
		s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		line := s.one("fs__echo")
		var m struct{ Result mcp.ListToolsResult }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Errorf("%s: %v", odd, err)
		}
	}
}
