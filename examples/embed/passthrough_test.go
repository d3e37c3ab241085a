package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// The same for a server that belongs to an MCP client: what the topic asks of it the
// program decides, and the client has its server as if nothing stood between.
func TestAProgramDecidesForAServerOfAClient(t *testing.T) {
	ctx := t.Context()
	in, says := io.Pipe()
	hears, out := io.Pipe()
	lines := bufio.NewScanner(hears)
	ask := func(line, want string) {
		t.Helper()
		if fmt.Fprintln(says, line); !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("the client hears %q, %v", lines.Text(), lines.Err())
		}
	}
	decided := make(chan error, 1)
	bob, ended := beside(ctx, t, func(o node.Options) error {
		p, err := node.NewPassthrough(o, false)
		if err != nil {
			return err
		}
		go func() { decided <- decide(ctx, p.Inbox()) }()
		return p.Run(ctx, stdio.Host{In: in, Out: out})
	})
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, `"serverInfo"`)
	fmt.Fprintln(says, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, c := range []struct{ text, want string }{
		{"buy milk", "kept as note 1"},
		{strings.Repeat("x", 81), "notes are short here"},
	} {
		a, err := bob.Call(ctx, "notes", "add_note", fmt.Appendf(nil, `{"text":%q}`, c.text), nil)
		if said := string(a.Result) + string(a.Err); err != nil || !strings.Contains(said, c.want) {
			t.Errorf("%s: %s, %v", c.text, said, err)
		}
	}
	ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add_note","arguments":{"text":"by the client"}}}`, "kept as note 2")
	says.Close()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if err := <-decided; err != nil {
		t.Errorf("who decides heard %v and not that it is over", err)
	}
}
