package inbox

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// How much of who is in the topic is told.
const (
	mostPresent = 50
	mostName    = 100 // characters of one
)

// Present is who is in the topic beside the bridge, as presence has it.
type Present struct {
	Names []string `json:"names"` // in the order of the alphabet, the first 50; what they call themselves, cut, and safe to show
	All   int      `json:"all"`   // how many there are
}

// PresentOf is how those are shown who have these ids. It sorts them.
func PresentOf(ids []string) *Present {
	slices.Sort(ids)
	p := &Present{Names: []string{}, All: len(ids)}
	for _, id := range ids[:min(len(ids), mostPresent)] {
		p.Names = append(p.Names, text.Cut(id, mostName))
	}
	return p
}
