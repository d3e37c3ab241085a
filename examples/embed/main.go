// Embed bridges an MCP server from a Go program that decides itself what may run: what
// reads runs unasked, and a note is added if it is short.
//
//	embed notes-server
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"os/signal"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	state, err := localgateway.Home(os.Getenv)
	if err == nil {
		err = run(ctx, node.Options{Server: node.Target{Args: os.Args[1:]}, Env: node.Environment{Ours: os.Environ()}, State: state})
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o node.Options) (err error) {
	if o.Rules, err = policy.Flags([]string{"list_*", "search_*"}, []string{"delete_*"}); err != nil {
		return err
	}
	n, err := node.New(ctx, o)
	if err != nil {
		return err
	}
	return n.Run(ctx, func(ctx context.Context) error { return decide(ctx, n.Inbox()) })
}

// decide answers every question in the place of the person at this machine.
func decide(ctx context.Context, in inbox.Inbox) error {
	for e := range in.Watch(ctx) {
		if q, err := in.Show(ctx, e.ID); e.Event == "asked" && err == nil {
			var note struct{ Text string }
			short := json.Unmarshal(q.Args, &note) == nil && len(note.Text) <= 80
			reply := approval.Reply{Allow: q.Tool == "add_note" && short, Reason: "notes are short here"}
			if _, err := in.Decide(ctx, inbox.Decide(&q, &reply)); err != nil {
				log.Printf("%s: the answer does not count: %v", q.Tool, err)
			}
		}
	}
	return ctx.Err()
}
