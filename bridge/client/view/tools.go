package view

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
)

// Tools are rows, the head first, of what there is to call. Descriptions are whole, on one
// line. standing is what the rules of each peer say of our calls, by its id and the tool; the
// column for it is left out where nobody says any.
func Tools(all []client.Tool, standing map[string]map[string]string) [][]string {
	rows := [][]string{{"PEER", "TOOL", "FOR YOU", "ARGUMENTS", "DESCRIPTION"}}
	for _, t := range all {
		rows = append(rows, []string{t.Peer, t.Name, standing[t.Peer][t.Name], arguments.Words(t.InputSchema), strings.Join(strings.Fields(t.Description), " ")})
	}
	return without(rows, 2)
}

// ToolsNote explains what is starred in the rows of [Tools], "" where nothing is.
func ToolsNote(standing map[string]map[string]string) string {
	for _, said := range standing {
		for _, word := range said {
			if strings.HasSuffix(word, client.Starred) {
				return client.Starred + " but some arguments are denied"
			}
		}
	}
	return ""
}
