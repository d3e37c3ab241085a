package bridge

// What was agreed to waits here for the server: until it is up, or has said once
// more what its tools are (see readsFirst).

// unpark gives up on a server that did not come back in time.
func (e *Engine) unpark(c *call) {
	for i, p := range e.calls.parked {
		if p == c {
			e.calls.parked = append(e.calls.parked[:i:i], e.calls.parked[i+1:]...)
			r := serverUnavailable(e.server.why, e.server.retry)
			if e.server.up {
				r = notReread()
			}
			e.unstarted(c, r)
			e.idleIfDone()
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
		if c.silent {
			e.ledger.GiveBack(c.hold)
		} else {
			e.agreed(c)
		}
	}
}
