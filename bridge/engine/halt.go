package engine

import (
	"errors"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
)

// While the bridge is halted nothing is given to the server for anybody: what comes is refused
// at once, what was on its way there is refused when the halt comes, and the time of questions
// stands still (see [approval.Desk.Halt]). What the server has goes on. We still answer what
// needs no server, and look at its tools ourselves.

// Halted is how the bridge is halted, nil if it is not. Nobody changes it any more.
func (e *Engine) Halted() *Halted { return e.halted }

// halt has nothing start from now on. A bridge that is halted already stays so as it is, save
// that nobody waits any more for the record to say that it goes on.
func (e *Engine) halt(ev Halt) {
	if e.resuming != 0 {
		e.do(Resumed{errHaltedAgain})
	}
	if e.halted == nil || e.resuming != 0 {
		e.halted, e.resuming = &Halted{ev.By, ev.Why, e.now}, 0
		e.noteHalt("")
		e.startNothing()
	}
	if ev.Cancel {
		e.then(e.cancelRunning)
	}
}

// ownerSaid takes the word of the person at this machine where it is about no question.
func (e *Engine) ownerSaid(ev Event) {
	switch ev := ev.(type) {
	case Revoked:
		e.revoke(ev.Grant)
	case Halt:
		e.halt(ev)
	case Resume:
		e.resumeOn(ev)
	}
}

// beginHalted is the first that happens in a run that is halted as one before it was.
func (e *Engine) beginHalted() {
	e.unsaid = false
	e.queueDesk(e.desk.Halt(e.now, ""))
	e.noteHalt("restarted")
}

var errHaltedAgain = errors.New("somebody halted it again meanwhile")

// noteHalt puts on record that the bridge is halted, and again if that cannot be.
func (e *Engine) noteHalt(reason string) {
	e.note(record.Record{Event: record.Halted, By: []string{e.halted.By}, Reason: reason, Detail: e.policy.RedactText(e.halted.Why)})
	e.haltNoted = e.ticket()
	e.do(Sync{e.haltNoted})
}

// auditUp: records can be written again.
func (e *Engine) auditUp() {
	e.auditDown = false
	if e.halted != nil && e.haltNoted != 0 && e.resuming == 0 { // or it would stand behind the record that it goes on (seed 1454)
		e.noteHalt("")
	}
}

// startNothing refuses all that has not started and would, and stops the clocks of questions.
func (e *Engine) startNothing() {
	r := e.isHalted()
	because := r.Message
	if says := refusal.Says(e.halted.By, r.Say); says != "" {
		because += "; " + says
	}
	e.queueDesk(e.desk.Halt(e.now, because))
	e.awaitNoMore(func(w *awaiting) bool {
		stops := w.life != nil || e.halts(w.env)
		if stops {
			e.then(awaited{w}) // which is refused as what comes now
		}
		return stops
	})
	inTurn(e, e.calls.Unstarted(), func(c *inflight.Call) { e.refuseUnstarted(c, r) })
	e.then(func() {
		e.calls.Parked = nil
		clear(e.calls.Syncing)
		clear(e.calls.Looking)
		e.endClaims(r)
	})
	e.then(e.remindAll)
	e.then(e.tellHalted)
}

// cancelRunning ends what participants have the server do.
func (e *Engine) cancelRunning() {
	r := e.isHalted()
	r.Executed, r.Retryable = refusal.Perhaps, false
	r.Message = "the bridge was halted while the server had the call, and told the server to end it, so nobody knows whether it ran"
	for _, c := range e.calls.InOrder() {
		if c.Occupies() && !c.Phase.Settled() {
			e.cancelAtServer(c, "the bridge is halted")
			e.refuseCall(c, r)
			e.keepNumber(c)
		}
	}
}

// resumeOn lets things start again as soon as that is on disk.
func (e *Engine) resumeOn(ev Resume) {
	if e.halted == nil {
		e.do(Resumed{})
		return
	}
	e.note(record.Record{Event: record.Resumed, By: []string{ev.By}, Detail: e.policy.RedactText(ev.Why)})
	e.resuming = e.ticket()
	e.do(Sync{e.resuming})
}

// haltSynced takes a Synced that may be about one of these records.
func (e *Engine) haltSynced(ev Synced) {
	switch {
	case ev.Ticket == e.resuming:
		e.goOn(ev.Err)
	case ev.Ticket == e.haltNoted && ev.Err == nil:
		e.haltNoted = 0
	}
}

// goOn goes on, or stays halted where that could not be put on disk.
func (e *Engine) goOn(err error) {
	e.resuming = 0
	if err != nil {
		e.noteHalt("") // the record may say that it goes on
	} else {
		e.halted = nil
		e.queueDesk(e.desk.Resume(e.now))
		e.tellHalted()
		if e.server.up {
			e.tellToolsChanged() // whoever asked for them meanwhile was refused
		}
		e.then(e.remindAll)
	}
	e.do(Resumed{err})
}

// remindAll tells those who wait for people anew for how long.
func (e *Engine) remindAll() {
	inTurn(e, sorted(e.calls.Asked), func(id string) {
		if c := e.calls.Asked[id]; c != nil {
			e.alarms.stop(c.Alarm)
			e.remind(c)
		}
	})
}

// ticket is a fresh one.
func (e *Engine) ticket() uint64 {
	e.tickets++
	return e.tickets
}
