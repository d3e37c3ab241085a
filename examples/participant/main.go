// Participant calls a tool of another participant of a topic at this machine's gateway,
// and answers, as somebody else, the question whether it may:
//
//	mcpx-bridge run --id files --approver olga -- SERVER
//	participant files write_file '{"path":"notes.txt","content":"hello"}'
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

func main() {
	if err := run(context.Background(), os.Getenv, os.Stdout, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, getenv func(string) string, out io.Writer, peer, tool, arguments string) error {
	state, err := localgateway.Home(getenv)
	if err != nil {
		return err
	}
	gateway := localgateway.New(localgateway.Options{State: state})
	join := func(id string, o client.Options) (*client.Client, error) {
		c := client.New(&localgateway.Connector{Local: gateway, Join: topic.Options{Topic: "lobby", ID: id}}, o)
		return c, c.Dial(ctx)
	}
	asked := &client.ApprovalInbox{}
	asked.Opened = func(q *client.Question) {
		fmt.Fprintf(out, "%s asks whether %s may call %s\n", q.From, q.View.From, q.View.Tool)
		yes := approval.Reply{Allow: q.View.Tool == tool, Reason: "olga knows of it"}
		asked.Answer(q.View.ID, func(q *client.Question) []byte { return yes.Result(q.View.Choice) })
	}
	olga, err := join("olga", client.Options{Approvals: asked})
	if err != nil {
		return err
	}
	defer olga.Close()
	carol, err := join("carol", client.Options{})
	if err != nil {
		return err
	}
	defer carol.Close()
	answer, err := carol.Call(ctx, peer, tool, []byte(arguments), nil)
	if err == nil && answer.Err != nil {
		err = client.ErrorOf(peer, tool, answer.Err)
	}
	fmt.Fprintf(out, "%s\n", answer.Result)
	return err
}
