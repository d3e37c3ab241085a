package sim

import (
	"bytes"
	"fmt"
	"time"

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

// halt stops everything for a while; cancel: what runs, too.
func (w *world) halt() {
	w.owner.halts++
	d := newDice(w.o.Seed, fmt.Sprint("halt", w.owner.halts))
	w.resumeIn(d.between(0, pick(d, time.Second, time.Minute)))
	cancel := d.chance(.3)
	w.check.haltedNow()
	if cancel {
		w.check.cancelsAll()
	}
	w.trace.note(w.now, "halt", fmt.Append(nil, cancel))
	how := w.proc.sidecar.Halt(engine.Halt{By: "local", Why: "enough of it", Cancel: cancel})
	w.owner.halted = &how
	w.proc.settle()
}

// resumeIn lets the bridge go on after a while, whichever life of it there is then, and
// forgets the halt when it does: what is kept of it is taken away last.
func (w *world) resumeIn(wait time.Duration) {
	w.after(wait, func() {
		p := w.proc
		switch {
		case p == nil:
		case p.sidecar.Halted() == nil:
			w.owner.halted = nil
			return
		default:
			w.trace.note(w.now, "resume", nil)
			p.sidecar.Handle(engine.Resume{By: "local"})
			p.settle()
		}
		w.resumeIn(45 * time.Second) // a disk may take its time
	})
}

// keptHalt is how a life of the bridge begins halted, nil if it does not: as is kept in a file,
// or as its record ends.
func (w *world) keptHalt() *engine.Halted {
	last := func(event string) int { return bytes.LastIndex(w.log.text, []byte(`"event":"`+event+`"`)) }
	if w.owner.halted == nil && last("halted") > last("resumed") {
		return &engine.Halted{By: "local"}
	}
	return w.owner.halted
}

// mayRevoke: there is something to take back.
func (w *world) mayRevoke() bool { return w.proc != nil && len(w.proc.sidecar.Grants()) > 0 }

// revoke takes back all yeses that last.
func (w *world) revoke() {
	w.proc.tell(engine.Tick{}) // a grant whose time is over, though the tick is late, is not there to be taken back
	for _, g := range w.proc.sidecar.Grants() {
		usedUp := w.check.usedUp(g.ID)
		w.check.revoked(g.ID)
		w.drawer.drop(g.ID)
		if !w.proc.sidecar.Revoke(g.ID) {
			w.check.wasGone(g.ID, usedUp)
		}
	}
	w.company.relyAll()
}

// save changes the file under a running bridge.
func (w *world) save(b *rulebook) {
	w.check.saved(b)
	w.proc.tell(engine.Saved{Policy: b.loaded, File: "policy.yaml"})
}
