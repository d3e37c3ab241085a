package engine

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// What a proposer hears of us beside the answer: that people decide, that we
// serve its proposal, or that we do not, and why.

// defers tells a proposer that wants to know that people decide.
func (e *Engine) defers(c *inflight.Call) {
	if c.Origin == inflight.Proposal && c.Phase == inflight.Asked {
		e.stands(c.Life, "defer", "considering", "")
	}
}

// stands tells a proposer how it stands with its proposal, in the words that it
// has asked for or uses itself, and that the gateway lets pass.
func (e *Engine) stands(l *proposal.Life, response, status, reason string) {
	if l.WantsResponse {
		e.standing(wire.ProposalResponse, l, wire.Standing{State: response, Reason: reason})
		return
	}
	if e.offers.status && (l.Targeted || response != "reject") {
		e.standing(wire.Status, l, wire.Standing{State: status, Reason: reason})
	}
}

func (e *Engine) standing(kind wire.Kind, l *proposal.Life, s wire.Standing) {
	env := &wire.Envelope{Kind: kind, To: []string{l.Proposer}, Corr: []string{l.ID}, Payload: s.Payload(), Style: l.Style}
	if _, err := e.room.dialect.Spelling(env, e.room.caps); err == nil && e.send(wire.Notice, env) {
		l.Announced = true
	}
}

// A rejection is a reject as it went out.
type rejection struct {
	env  *wire.Envelope
	kind string // in which words
}

// rejectionsMax is how many may wait for the gateway's complaint: it complains
// at once.
const rejectionsMax = 16

func (e *Engine) reject(l *proposal.Life, reason, detail string) {
	env := &wire.Envelope{Kind: wire.Reject, To: []string{l.Proposer}, Corr: []string{l.ID}, Style: l.Style,
		Payload: wire.Ending{Reason: reason, Detail: detail}.Payload()}
	kind, _ := e.room.dialect.Spelling(env, e.room.caps)
	if !e.send(wire.Reply, env) {
		return
	}
	if len(e.offers.said) == rejectionsMax {
		e.offers.said = e.offers.said[1:]
	}
	e.offers.said = append(e.offers.said, rejection{env, kind})
}

// rejectAgain: the gateway lets a word not pass that it seemed to (WIRE W-4).
// The reject is said once more in the next words, and the refused ones are not
// used again.
func (e *Engine) rejectAgain(f wire.Fault) {
	for i := len(e.offers.said) - 1; i >= 0; i-- {
		r := e.offers.said[i]
		if !slices.Contains(f.Trigger, r.env.ID) && (len(f.Trigger) > 0 || f.AttemptedKind != r.kind) {
			continue
		}
		e.offers.said = append(e.offers.said[:i:i], e.offers.said[i+1:]...)
		e.room.caps = e.room.caps.Without(r.kind)
		again := *r.env
		again.ID = ""
		e.send(wire.Reply, &again)
		return
	}
}

// unheard: a frame of ours that puts a question to somebody did not get there, or a
// request that others made for a proposal (FINDINGS D13, M9). Who is merely away is
// left to the roster: they may be back in a moment. ours: it was said to us.
func (e *Engine) unheard(f wire.Fault, ours bool) {
	absent := f.Code == "recipient_absent"
	for _, id := range f.Trigger {
		switch {
		case absent && !e.believed(): // nor is it known who says so, nor who is here
		case absent:
			e.live(e.book.Nobody(id, e.here))
		case ours:
			e.act(e.desk.Unreachable(e.now, id))
		}
	}
	if !ours || f.Code != "capability_violation" || len(f.Trigger) > 0 {
		return
	}
	env := &wire.Envelope{Kind: wire.Request, Method: elicitation}
	if kind, err := e.room.dialect.Spelling(env, e.room.caps); err == nil && kind == f.AttemptedKind {
		e.act(e.desk.UnreachableAll(e.now))
	}
}
