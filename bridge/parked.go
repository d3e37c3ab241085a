package bridge

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
)

// What was agreed to waits here for the server: until it is up, or has said once
// more what its tools are (see readsFirst).

// park has a call that was agreed to wait, as long as the agreement lasts, until a
// listing that has not begun yet was read: one that is under way may tell of what was
// before.
func (e *Engine) park(c *call) {
	c.on(inflight.Park)
	c.reread = e.server.begun + 1
	e.calls.parked = append(e.calls.parked, c)
	c.alarm = e.alarms.set(c.agreed.StartBy, func() { e.unpark(c) })
}

// unpark gives up on a server that did not come back in time.
func (e *Engine) unpark(c *call) {
	for i, p := range e.calls.parked {
		if p == c {
			e.calls.parked = append(e.calls.parked[:i:i], e.calls.parked[i+1:]...)
			r := refusal.ServerUnavailable(e.server.why, e.server.retry)
			if e.server.up {
				r = notReread()
			}
			e.unstarted(c, r)
			return
		}
	}
}

// startParked starts what waited for the server.
func (e *Engine) startParked() {
	parked := e.calls.parked
	e.calls.parked = nil
	for _, c := range parked {
		e.alarms.stop(c.alarm)
		if c.phase == inflight.Done {
			e.ledger.GiveBack(c.hold)
			continue
		}
		c.on(inflight.Resume)
		e.agreed(c)
	}
}
