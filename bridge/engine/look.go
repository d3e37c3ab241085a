package engine

import "github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"

// looked goes on with a call whose paths were looked up. Rules may have changed meanwhile, and
// its caller may have gone.
func (e *Engine) looked(ev Looked) {
	c := e.calls.Looking[ev.Ticket]
	if c == nil {
		return
	}
	delete(e.calls.Looking, ev.Ticket)
	e.alarms.stop(c.Alarm)
	c.Alarm = nil
	if c.Phase == inflight.Received {
		c.Inside = ev.Inside
		e.admit(c)
	}
}
