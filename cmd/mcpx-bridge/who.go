package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func (p *program) whoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "who [FLAGS]",
		Short: "List who is in the topic",
		Long: `List who is in the topic, and what each of them may send there.

It joins for a moment, as anybody does, and lists the others.`,
		Example: "  mcpx-bridge who\n  mcpx-bridge who --topic team --json",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := p.takeSeat(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer q.close()
			if p.s.JSON {
				return p.print(whoJSON(q.others()))
			}
			return p.print(whoTable(q.others()))
		},
	}
	p.s.roomFlags(cmd.Flags())
	return cmd
}

func whoTable(all []wire.Participant) []byte {
	rows := [][]string{{"PARTICIPANT", "NAME", "MAY SEND"}}
	for _, p := range all {
		rows = append(rows, []string{p.ID, p.Name, strings.Join(capWords(p.Caps), ", ")})
	}
	return table(rows)
}

func whoJSON(all []wire.Participant) []byte {
	var out []byte
	for _, p := range all {
		line := struct {
			ID           string          `json:"id"`
			Name         string          `json:"name,omitempty"`
			Role         string          `json:"role,omitempty"`
			Capabilities json.RawMessage `json:"capabilities,omitempty"`
		}{p.ID, p.Name, p.Role, p.Caps.Raw()}
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
