package sim

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// A drawer is the file of yeses that are to last (DESIGN 7), written and read back in
// its real form.
type drawer struct {
	check *checker
	text  []byte          // of the file; nil: there is none
	gone  map[string]bool // taken back, perhaps before they were written down
}

// read is what a life of the bridge finds there.
func (d *drawer) read() []approval.Grant {
	if d.text == nil {
		return nil
	}
	kept, err := approval.ReadGrants("grants.json", d.text)
	if err != nil {
		d.check.blame("AI-18", "what was to last cannot be read again: %v", err)
	}
	return kept
}

func (d *drawer) write(kept []approval.Grant) {
	text, err := approval.WriteGrants(kept)
	if err != nil {
		d.check.blame("AI-18", "what is to last cannot be written: %v", err)
	}
	d.text = text
}

// keep writes a yes down.
func (d *drawer) keep(g approval.Grant) {
	if !d.gone[g.ID] {
		d.write(append(d.read(), g))
	}
}

func (d *drawer) drop(id string) {
	d.gone[id] = true
	d.write(slices.DeleteFunc(d.read(), func(g approval.Grant) bool { return g.ID == id }))
}
