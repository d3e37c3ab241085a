package engine

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
)

// What was agreed to waits here for the server: until it is up, or has said once
// more what its tools are (see readsFirst).

// park has a call that was agreed to wait, as long as the agreement lasts, until a
// listing that has not begun yet was read: one that is under way may tell of what was
// before.
func (e *Engine) park(c *inflight.Call) {
	c.On(inflight.Park)
	c.Reread = e.server.begun + 1
	e.calls.Parked = append(e.calls.Parked, c)
	c.Alarm = e.alarms.set(c.Agreed.StartBy, func() { e.unpark(c) })
}

// unpark gives up on a server that did not come back in time.
func (e *Engine) unpark(c *inflight.Call) {
	for i, p := range e.calls.Parked {
		if p == c {
			e.calls.Parked = append(e.calls.Parked[:i:i], e.calls.Parked[i+1:]...)
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
	parked := e.calls.Parked
	e.calls.Parked = nil
	for _, c := range parked {
		e.alarms.stop(c.Alarm)
		if c.Phase == inflight.Done {
			e.ledger.GiveBack(c.Hold)
			continue
		}
		c.On(inflight.Resume)
		e.agreed(c)
	}
}
