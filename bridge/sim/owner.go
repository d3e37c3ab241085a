package sim

import (
	"fmt"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
)

// mayReload: there is a bridge to hear of it.
func (w *world) mayReload() bool { return w.proc != nil && !w.proc.stopping }

// reload brings the next policy into force, or into the file under a bridge that somebody sits at.
func (w *world) reload() {
	w.owner.now++
	if w.o.Local && newDice(w.o.Seed, fmt.Sprint("saved", w.owner.now)).chance(.6) {
		w.save(w.book())
	} else if w.check.filed == nil { // which nobody but the world does
		w.check.reloaded(w.book())
		w.proc.tell(engine.Reloaded{Policy: w.book().loaded})
	}
	w.company.relyAll()
}

// mayRevoke: there is something to take back.
func (w *world) mayRevoke() bool { return w.proc != nil && len(w.proc.sidecar.Grants()) > 0 }

// revoke takes back all yeses that last.
func (w *world) revoke() {
	w.proc.tell(engine.Tick{}) // a grant whose time is over, though the tick is late, is not there to be taken back
	for _, g := range w.proc.sidecar.Grants() {
		w.check.revoked(g.ID)
		w.drawer.drop(g.ID)
		if !w.proc.sidecar.Revoke(g.ID) {
			w.check.blame("AI-18", "a grant that is in force cannot be taken back")
		}
	}
	w.company.relyAll()
}

// save changes the file under a running bridge.
func (w *world) save(b *rulebook) {
	w.check.saved(b)
	w.proc.tell(engine.Saved{Policy: b.loaded, File: "policy.yaml"})
}
