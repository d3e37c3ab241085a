package inbox

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// How much of who is here is told.
const (
	mostHere = 50
	mostName = 100 // characters of one
)

// Here is who is in the topic beside the bridge, as presence has it.
type Here struct {
	Names []string `json:"names"` // in the order of the alphabet, the first 50; what they call themselves, cut, and safe to show
	All   int      `json:"all"`   // how many there are
}

// HereOf is how those are shown who have these ids. It sorts them.
func HereOf(ids []string) *Here {
	slices.Sort(ids)
	h := &Here{Names: []string{}, All: len(ids)}
	for _, id := range ids[:min(len(ids), mostHere)] {
		h.Names = append(h.Names, text.Cut(id, mostName))
	}
	return h
}
