package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func (p *program) whoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "who [FLAGS]",
		Short: "List who is in the topic",
		Long: `List who is in the topic, which server that is, what it is for, and what it may
send there.

It joins for a moment, as anybody does, asks each of the others for what it says
of itself (initialize), and lists them. Who has not answered within a second may
be there to listen only; of others than our bridges nothing says what they provide.
An id says nothing of who sits there: when one leaves, another can take it.`,
		Example: "  mcpx-bridge who\n  mcpx-bridge who --topic team --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := p.takeSeat(cmd.Context(), client.Options{})
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
	return cmd
}

// whoTime is how long who waits for what the others say of themselves.
const whoTime = time.Second

// A whoLine is what who --json says of somebody.
type whoLine struct {
	ID           string             `json:"id"`
	Name         string             `json:"name,omitempty"`
	Role         string             `json:"role,omitempty"`
	Server       *client.ServerInfo `json:"server,omitempty"`
	Provides     []string           `json:"provides,omitempty"`
	Capabilities json.RawMessage    `json:"capabilities,omitempty"`
}

func (p *program) listParticipants(ctx context.Context, q *peer) error {
	others := q.Others()
	said := q.Introductions(ctx, others)
	l := p.list("PARTICIPANT", "SERVER", "PROVIDES", "MAY SEND")
	for _, o := range others {
		i, server := said[o.ID], ""
		if i.Server != nil {
			server = text.Cut(strings.TrimSpace(i.Server.Name+" "+i.Server.Version), 80)
		}
		l.add(whoLine{o.ID, o.Name, o.Role, i.Server, i.Provides, o.Caps.Raw()},
			o.ID, server, strings.Join(i.Provides, ", "), strings.Join(capWords(o.Caps), ", "))
	}
	return l.end("")
}

// capWords are capabilities in the words of people: the kinds alone.
func capWords(c wire.Caps) []string {
	var patterns []json.RawMessage
	if json.Unmarshal(c.Raw(), &patterns) != nil {
		return []string{"-"}
	}
	words := []string{}
	for _, raw := range patterns {
		var pattern struct{ Kind string }
		if json.Unmarshal(raw, &pattern.Kind) != nil && json.Unmarshal(raw, &pattern) != nil {
			continue
		}
		words = append(words, pattern.Kind)
	}
	return words
}
