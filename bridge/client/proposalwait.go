package client

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// limitTime has the time of the Limit run.
func (w *ProposalWait) limitTime() {
	if w.Limit.Time <= 0 {
		return
	}
	w.Limit.Progress = nil
	w.decision = &decision{limit: w.Limit, late: time.AfterFunc(w.Limit.first(), func() {
		select {
		case w.late <- struct{}{}:
		default:
		}
	})}
}

// waitsFor hears that people decide, from whom it is put to, or from the first that may do it
// and says so.
func (w *ProposalWait) waitsFor(e *wire.Envelope) {
	if e.Method != engine.Waiting || w.decision == nil {
		return
	}
	params := e.Message.Get(jsonrpc.Params)
	var said struct {
		Proposal string `json:"proposalId"`
	}
	if json.Unmarshal(params, &said) != nil || said.Proposal != w.ID {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.decider != "" && w.decider != e.From || w.begun() || !w.mayServe(e.From) {
		return
	}
	w.decider = e.From
	w.decision.progressed(params)
}

// mayServe reports whether somebody may serve the proposal, as far as we know.
func (w *ProposalWait) mayServe(who string) bool {
	able := w.able()
	if able == nil {
		able = w.present()
	}
	return slices.Contains(able, who)
}

// decided hears that nobody decides any more at who said so. It is called with the lock held.
func (w *ProposalWait) decided(who string) {
	if w.decision != nil && who != "" && who == w.decider {
		w.decider = ""
		w.decision.over()
	}
}

// undecided reports whether people decide.
func (w *ProposalWait) undecided() bool { return w.decision != nil && w.decision.waits() }

// unconfirmed ends the wait for people's decision, after the proposal was taken back: who asks
// them may have begun it at the same moment, and have said so by the time that it says that it
// has heard.
func (w *ProposalWait) unconfirmed(given Result, cause error) (Result, error) {
	w.mu.Lock()
	decider := w.decider
	w.mu.Unlock()
	sure := given.Kept == nil && w.c.hasHeard(decider) && w.c.gapsSoFar() == w.gaps && !w.c.seat.Paced()
	select {
	case r := <-w.done:
		return r, r.err
	default:
	}
	if given.Begun = w.begun(); given.Begun || !w.undecided() {
		return given, cause
	}
	return given, w.decision.undecided(w.Tool, cause, given.Kept, sure)
}

func (w *ProposalWait) begun() bool {
	return w.attempts(func(*pendingAnswer) bool { return true }) > 0
}

// attempts counts the requests that were made for it.
func (w *ProposalWait) attempts(which func(*pendingAnswer) bool) int {
	return w.c.pending.count(func(a *pendingAnswer) bool { return a.proposal == w && !a.forProposal && which(a) })
}

// able are those who alone may serve the proposal; nil for everybody.
func (w *ProposalWait) able() []string {
	switch {
	case w.To != "":
		return []string{w.To}
	case w.Offer.Exclusive && !w.Offer.FallbackToBroadcast:
		return w.Offer.Preferred
	}
	return nil
}

// present are those in the topic who could do it.
func (w *ProposalWait) present() (ids []string) {
	for _, p := range w.c.Others() {
		if p.Caps.CouldServe("tools/call") {
			ids = append(ids, p.ID)
		}
	}
	return ids
}
