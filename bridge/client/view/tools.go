package view

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
)

// Tools are rows, the head first, of what there is to call. Descriptions are whole, on one
// line.
func Tools(all []client.Tool) [][]string {
	rows := [][]string{{"PEER", "TOOL", "ARGUMENTS", "DESCRIPTION"}}
	for _, t := range all {
		rows = append(rows, []string{t.Peer, t.Name, arguments.Words(t.InputSchema), strings.Join(strings.Fields(t.Description), " ")})
	}
	return rows
}
