package engine

import (
	"errors"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// What the person at this machine says of the bridge as a whole: that it halts and goes on, that
// a yes of before is taken back, and whether a policy file counts that lets more through.

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

// revoke forgets a yes, and puts that on record.
func (e *Engine) revoke(id string) {
	for _, g := range e.Grants(e.now) {
		if g.ID == id {
			e.endGrant(g, "")
		}
	}
}

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
	inTurn(e, e.calls.Unstarted(), func(c *inflight.Call) { e.refuseCall(c, r) })
	e.then(func() {
		e.calls.Parked = nil
		clear(e.calls.Syncing)
		clear(e.calls.Looking)
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

// A tool that is let write files may write the policy too, and a reload would
// switch the gate off (FINDINGS M1). So a file that lets more through than the
// policy in force waits for a yes at this machine, as a question that looks like
// any other there; one that is only stricter counts at once. Nothing else of a
// waiting file counts either. A start takes the file as it stands. What is asked about is
// all that is looser than the policy in force, and than the last one that somebody stood
// behind: a stricter file in between, which nobody was asked about, takes no deny out of
// what people have said.

// reloadAgain is when it is asked again that could not be.
const reloadAgain = time.Minute

// saved takes a policy file that was changed.
func (e *Engine) saved(ev Saved) {
	e.dropWaiting("replaced")
	e.then(func() { e.judgeFile(ev) })
}

// judgeFile has a policy file count, or asks whether it may.
func (e *Engine) judgeFile(ev Saved) {
	looser := policy.Looser(e.policy, ev.Policy)
	switch {
	case len(looser) == 0:
		e.reload(ev.Policy)
		return
	case e.stopping:
		return
	}
	if e.backed != e.policy {
		looser = union(looser, policy.Looser(e.backed, ev.Policy))
	}
	w := &waiting{policy: ev.Policy, file: ev.File, looser: looser}
	if why := approval.Beyond(w.arguments(), nil); why != "" { // nobody would read what stands at the end
		e.note(record.Record{Event: record.ReloadDecided, Verdict: "deny", Reason: "too_large", Detail: why, Count: len(looser)})
		return
	}
	e.waiting = w
	e.askToReload()
}

// union is all of some, and what others have besides.
func union(some, others []string) []string {
	known := map[string]bool{}
	for _, s := range some {
		known[s] = true
	}
	for _, s := range others {
		if !known[s] {
			some = append(some, s)
		}
	}
	return some
}

// dropWaiting forgets the file that waits.
func (e *Engine) dropWaiting(reason string) {
	w := e.waiting
	if w == nil {
		return
	}
	e.waiting = nil
	e.alarms.stop(w.again)
	if w.id != "" {
		e.queueDesk(e.desk.Abort(e.now, w.id, reason))
	}
}

// askToReload puts the question to the person at this machine.
func (e *Engine) askToReload() {
	w := e.waiting
	if e.auditDown { // what cannot be put on record is not asked about
		e.askToReloadLater(0)
		return
	}
	q := approval.Question{Caller: approval.PolicyFile, Via: "request", Method: approval.PolicyReload, AboutPolicy: true, Args: w.arguments(),
		Terms:  policy.Terms{Of: []string{"local"}, Need: 1, Within: policy.MaxQuestion, Mode: "parallel", Priority: "high", Remember: []string{"once"}},
		Bridge: e.room.me, Server: e.serverName, Program: e.serverProgram, Topic: e.topic, Gateway: e.gateway, Dialect: e.room.dialect.Protocol,
		PolicyHash: e.policy.Hash()}
	if e.policy.TakesPasskeys() || e.backed.TakesPasskeys() {
		q.Terms.Confirm = policy.Passkey // or it could be had by a yes without one
	}
	id, acts := e.desk.Open(e.now, q)
	w.id = id
	e.note(record.Record{Event: record.ReloadWaiting, Question: id, Confirm: q.Terms.Confirm, Digest: e.desk.DigestOf(id, acts).Short(), Detail: w.looser[0], Count: len(w.looser)})
	e.queueDesk(acts)
}

// arguments are what the person reads before saying yes.
func (w *waiting) arguments() []byte {
	b := jsonrpc.AppendQuote([]byte(`{"file":`), w.file)
	b = append(b, `,"looser":[`...)
	for i, each := range w.looser {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonrpc.AppendQuote(b, each)
	}
	b = jsonrpc.AppendQuote(append(b, `],"sha256":`...), w.policy.Hash())
	return append(b, '}')
}

// reloadSettled takes the end of the question.
func (e *Engine) reloadSettled(s approval.Settled) {
	w := e.waiting
	e.do(Told{s})
	if w == nil || w.id != s.ID {
		return // it has been replaced
	}
	r := record.Record{Event: record.ReloadDecided, Verdict: "deny", Question: s.ID, Reason: s.Reason, Detail: s.Said, By: names(s.By),
		Outcome: s.Outcome.String(), Digest: s.Digest.Short()}
	switch {
	case s.Outcome == approval.Allowed:
		r.Verdict = "allow"
		e.note(r)
		w.ticket = e.ticket()
		e.do(Sync{w.ticket})
		return
	case s.Outcome == approval.Denied:
		e.waiting = nil // until the file is changed again
	case e.stopping:
		e.waiting = nil
	default: // nobody could be asked, or nobody answered within a day
		e.askToReloadLater(s.Retry)
	}
	e.note(r)
}

// askToReloadLater has the file go on waiting.
func (e *Engine) askToReloadLater(after time.Duration) {
	w := e.waiting
	w.id, w.ticket = "", 0
	w.again = e.alarms.set(e.now.Add(max(after, reloadAgain)), e.askToReload)
}

// reloadSynced: the yes is on disk, or could not be put there. Then the file waits for
// another one: whoever agreed would not know that it does not count.
func (e *Engine) reloadSynced(ev Synced) {
	w := e.waiting
	switch {
	case e.stopping:
		e.waiting = nil
	case ev.Err != nil:
		e.note(record.Record{Event: record.ReloadDecided, Verdict: "deny", Question: w.id, Reason: auditReason, Detail: ev.Err.Error()})
		e.askToReloadLater(0)
	default:
		e.waiting, e.backed = nil, w.policy
		e.reload(w.policy)
	}
}
