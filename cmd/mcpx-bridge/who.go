package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/view"
)

func (p *program) whoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "who [FLAGS]",
		Short: "List who is in the topic",
		Long: `List who is in the topic, which server that is, what it is for, and what it may
do there: call tools, propose calls, serve them, decide about those of others, chat.
That is the gateway's word; each bridge decides what it lets others call
(mcpx-bridge tools). A terminal shows it where somebody may do less, or with --wide.

It joins for a moment, as anybody does, asks each of the others for what it says
of itself (initialize), and lists them. A server that has not come up yet is
"starting". A participant that does not answer within a second may only listen.
Only bridges of mcpx-bridge say what they provide. An id does not prove who has it:
when one participant leaves, another can take it.`,
		Example: "  mcpx-bridge who\n  mcpx-bridge who --topic team --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := p.takeTurn(cmd.Context(), client.Options{OnStarting: func(string, string) {}}) // the list says so
			if err != nil {
				return err
			}
			defer q.Close()
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), whoTime, client.ErrNoAnswer)
			defer cancel()
			return p.listParticipants(ctx, q)
		},
	}
	p.s.roomFlags(cmd.Flags())
	p.s.wideFlag(cmd.Flags())
	return cmd
}

// whoTime is how long who waits for what the others say of themselves.
const whoTime = time.Second

func (p *program) listParticipants(ctx context.Context, q *peer) error {
	others := q.Others()
	said := q.Introductions(ctx, others)
	if !p.s.JSON {
		rows, cuts := view.Participants(others, said), 3
		if some := view.WithoutMay(rows); p.columns() > 0 && len(some[0]) < len(rows[0]) {
			rows, cuts = some, 2
		}
		return p.draw(rows, cuts)
	}
	for _, o := range others {
		p.print(jsonLine(view.ParticipantOf(o, said[o.ID])))
	}
	return nil
}
