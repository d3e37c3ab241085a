package view

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
)

// Tools are rows, the head first, of what there is to call, and a note that explains what is
// starred there, "" where nothing is. Descriptions are whole, on one line. standing is what the
// rules of each peer say of our calls, by its id and the tool; the column for it is left out
// where nobody says any.
func Tools(all []client.Tool, standing map[string]map[string]client.Standing) (rows [][]string, note string) {
	rows = [][]string{{"PEER", "TOOL", "FOR YOU", "ARGUMENTS", "DESCRIPTION"}}
	for _, t := range all {
		said := standing[t.Peer][t.Name]
		if said.Denies(t) {
			said.Word += "*"
			note = "* means that some arguments are denied"
		}
		rows = append(rows, []string{t.Peer, t.Name, said.Word, arguments.Words(t.InputSchema), strings.Join(strings.Fields(t.Description), " ")})
	}
	return without(rows, 2), note
}

// OfOne are the rows of [Tools] for somebody who knows whose they are.
func OfOne(rows [][]string) [][]string { return cut(rows, 0) }
