package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// A drawer is the file of yeses that are to last (DESIGN 7): rules, written and
// read back in their real form.
type drawer struct {
	w     *world
	rules []keptRule
	gone  map[string]bool // taken back, perhaps before they were written down
}

type keptRule struct{ id, text string }

// read is what a life of the bridge finds there.
func (d *drawer) read() []approval.Grant {
	var text strings.Builder
	text.WriteString(approval.RulesHead)
	for _, r := range d.rules {
		text.WriteString(r.text)
	}
	if len(d.rules) == 0 {
		return nil
	}
	kept, unbound, err := approval.ReadGrants("grants.yaml", []byte(text.String()))
	if err != nil || len(unbound) > 0 || len(kept) != len(d.rules) {
		d.w.check.blame("AI-18", "what was to last cannot be read again: %v %v", err, unbound)
	}
	return kept
}

// keep writes a yes down, a little later as the program does, and not where the
// disk takes nothing.
func (d *drawer) keep(p *process, g approval.Grant) {
	if g.Keep != "always" {
		return
	}
	rule := g.Rule()
	d.w.after(d.w.luck.between(0, 50*time.Millisecond), func() {
		if p.alive() && d.w.disk.err == nil && !d.gone[g.ID] {
			d.rules = append(d.rules, keptRule{g.ID, rule})
		}
	})
}

func (d *drawer) drop(id string) {
	d.gone[id] = true
	d.rules = slices.DeleteFunc(d.rules, func(r keptRule) bool { return r.id == id })
}
