package engine

import "github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"

// looked goes on with a call whose paths were looked up. Rules may have changed meanwhile, and
// its caller, its server or the proposal that it serves may have gone: so it is looked at as if
// it came now, without the place in the limits that it had.
func (e *Engine) looked(ev Looked) {
	c := e.calls.Looking[ev.Ticket]
	if c == nil {
		return
	}
	delete(e.calls.Looking, ev.Ticket)
	e.alarms.stop(c.Alarm)
	c.Alarm = nil
	e.ledger.GiveBack(c.Hold)
	if c.Phase != inflight.Received {
		return
	}
	c.Inside, c.Beside = ev.Inside, e.besideNow(c)
	r, refused := e.mayNotServe(c.Life)
	if !refused {
		r, refused = e.judged(c.Request)
	}
	if refused {
		e.refuseUnstarted(c, r)
		return
	}
	e.admit(c)
}
