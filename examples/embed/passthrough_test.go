package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// A desktop is an MCP client that has a server of its own.
type desktop struct {
	t     *testing.T
	says  io.WriteCloser
	hears *bufio.Scanner
	ended <-chan error // its server, and who bridged that
}

// ask asks the server, and wants something in the answer.
func (d *desktop) ask(line, want string) {
	d.t.Helper()
	if fmt.Fprintln(d.says, line); !d.hears.Scan() || !strings.Contains(d.hears.Text(), want) {
		d.t.Errorf("the client hears %q, %v", d.hears.Text(), d.hears.Err())
	}
}

// ends ends its server.
func (d *desktop) ends() {
	d.t.Helper()
	d.says.Close()
	if err := <-d.ended; err != nil {
		d.t.Errorf("it ended with %v", err)
	}
}

// newDesktop has greeted its server, which is bridged by a program that sees its inbox. bob
// is in the topic.
func newDesktop(t *testing.T, inbox func(inbox.Inbox)) (d *desktop, bob *client.Client) {
	t.Helper()
	in, says := io.Pipe()
	hears, out := io.Pipe()
	d = &desktop{t: t, says: says, hears: bufio.NewScanner(hears)}
	bob, d.ended = beside(t.Context(), t, func(o node.Options) error {
		p, err := node.NewPassthrough(o, false)
		if err != nil {
			return err
		}
		go inbox(p.Inbox())
		return p.Run(t.Context(), stdio.Host{In: in, Out: out})
	})
	d.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, `"serverInfo"`)
	fmt.Fprintln(says, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return d, bob
}

// The same for a server that belongs to an MCP client: what the topic asks of it the
// program decides, and the client has its server as if nothing stood between.
func TestAProgramDecidesForAServerOfAClient(t *testing.T) {
	decided := make(chan error, 1)
	d, bob := newDesktop(t, func(in inbox.Inbox) { decided <- decide(t.Context(), in) })
	for _, c := range []struct{ text, want string }{
		{"buy milk", "kept as note 1"},
		{strings.Repeat("x", 81), "notes are short here"},
	} {
		a, err := bob.Call(t.Context(), "notes", "add_note", fmt.Appendf(nil, `{"text":%q}`, c.text), nil)
		if said := string(a.Result) + string(a.Err); err != nil || !strings.Contains(said, c.want) {
			t.Errorf("%s: %s, %v", c.text, said, err)
		}
	}
	d.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add_note","arguments":{"text":"by the client"}}}`, "kept as note 2")
	d.ends()
	if err := <-decided; err != nil {
		t.Errorf("who decides heard %v and not that it is over", err)
	}
}

// A question that is open when the client ends its server is taken away from who watches.
func TestAQuestionEndsWithTheServerOfAClient(t *testing.T) {
	asked, over := make(chan struct{}), make(chan []string)
	d, bob := newDesktop(t, func(in inbox.Inbox) {
		var events []string
		for e := range in.Watch(t.Context()) {
			if e.Event == "changed" {
				continue // who comes and goes
			}
			if events = append(events, e.Event); e.Event == "asked" {
				close(asked)
			}
		}
		over <- events
	})
	go bob.Call(t.Context(), "notes", "add_note", []byte(`{"text":"buy milk"}`), nil)
	<-asked
	d.ends()
	if events := <-over; strings.Join(events, " ") != " asked closed" {
		t.Errorf("who watches hears %q", events)
	}
}
