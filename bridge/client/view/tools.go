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
		arguments := arguments.Words(t.InputSchema)
		says := standing[t.Peer][t.Name]
		if arguments == "" { // of which none can be denied
			says = strings.TrimSuffix(says, client.Starred)
		}
		rows = append(rows, []string{t.Peer, t.Name, says, arguments, strings.Join(strings.Fields(t.Description), " ")})
	}
	return without(rows, 2)
}

// OfOne are the rows of [Tools] for somebody who knows whose they are.
func OfOne(rows [][]string) [][]string { return cut(rows, 0) }

// ToolsNote explains what is starred in the rows of [Tools], "" where nothing is.
func ToolsNote(rows [][]string) string {
	for _, row := range rows[1:] {
		if strings.HasSuffix(row[2], client.Starred) && rows[0][2] == "FOR YOU" {
			return client.Starred + " means that some arguments are denied"
		}
	}
	return ""
}
