package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func (p *program) whoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "who [FLAGS]",
		Short: "List who is in the topic",
		Long: `List who is in the topic, what its server is for, and what it may send there.

It joins for a moment, as anybody does, asks each of the others for what it says
of itself (initialize), and lists them. Who has not answered within a second may
be there to listen only; of others than our bridges nothing says what they provide.`,
		Example: "  mcpx-bridge who\n  mcpx-bridge who --topic team --json",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := p.takeSeat(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer q.close()
			all := q.others()
			provided := q.provided(cmd.Context(), all)
			if p.s.JSON {
				return p.print(whoJSON(all, provided))
			}
			return p.print(whoTable(all, provided))
		},
	}
	p.s.roomFlags(cmd.Flags())
	return cmd
}

// whoTime is how long who waits for what the others say of themselves.
const whoTime = time.Second

// provided are the words that the others say their servers are for.
func (q *peer) provided(ctx context.Context, all []wire.Participant) map[string][]string {
	ctx, cancel := context.WithTimeoutCause(ctx, whoTime, errNoAnswer)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	words := map[string][]string{} // guarded by mu
	for _, other := range all {
		asking.Go(func() {
			a, err := q.ask(ctx, other.ID, "initialize", helloParams(), nil)
			var said struct {
				Meta map[string]json.RawMessage `json:"_meta"`
			}
			var list []string
			if err != nil || json.Unmarshal(a.Result, &said) != nil || json.Unmarshal(said.Meta[bridge.ProvidesKey], &list) != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			words[other.ID] = list[:min(len(list), 64)]
		})
	}
	asking.Wait()
	return words
}

func whoTable(all []wire.Participant, provided map[string][]string) []byte {
	rows := [][]string{{"PARTICIPANT", "PROVIDES", "MAY SEND"}}
	for _, p := range all {
		rows = append(rows, []string{p.ID, strings.Join(provided[p.ID], ", "), strings.Join(capWords(p.Caps), ", ")})
	}
	return table(rows)
}

func whoJSON(all []wire.Participant, provided map[string][]string) []byte {
	var out []byte
	for _, p := range all {
		line := struct {
			ID           string          `json:"id"`
			Name         string          `json:"name,omitempty"`
			Role         string          `json:"role,omitempty"`
			Provides     []string        `json:"provides,omitempty"`
			Capabilities json.RawMessage `json:"capabilities,omitempty"`
		}{p.ID, p.Name, p.Role, provided[p.ID], p.Caps.Raw()}
		out = append(out, jsonLine(line)...)
	}
	return out
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

// table lines up rows of cells, which it makes safe to show.
func table(rows [][]string) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.StripEscape)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				w.Write([]byte("\t"))
			}
			w.Write([]byte(visible(cell)))
		}
		w.Write([]byte("\n"))
	}
	w.Flush()
	var out []byte
	for line := range bytes.Lines(b.Bytes()) {
		out = append(out, append(bytes.TrimRight(line, " \n"), '\n')...)
	}
	return out
}
