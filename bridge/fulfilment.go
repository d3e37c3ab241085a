package bridge

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// What others make of a proposal: they request it, of us or of each other, take
// it back, or refuse it.

// linked finds the proposal that a request refers to.
func (e *Engine) linked(env *wire.Envelope) *proposal.Life {
	if len(env.Corr) == 0 || !e.book.Knows(env.Corr) {
		return nil
	}
	return e.book.Linked(env.Corr, env.Method, sumOf(env))
}

// meantForUs: where the dialect allows it, a request without an addressee is
// made to the one participant its proposal is addressed to (WIRE W-9).
func (e *Engine) meantForUs(env *wire.Envelope, l *proposal.Life) bool {
	return l != nil && len(env.To) == 0 && l.Sole == e.room.me && e.room.dialect.OpenRequests()
}

// observe notes that somebody requests a proposal of somebody else.
func (e *Engine) observe(env *wire.Envelope, l *proposal.Life) {
	if l == nil {
		return
	}
	runner := ""
	switch {
	case len(env.To) == 1:
		runner = env.To[0]
	case len(env.To) == 0 && e.room.dialect.OpenRequests():
		runner = l.Sole
	}
	if runner != "" {
		e.live(e.book.Taken(l, proposal.Run{ID: strings.Clone(env.ID), By: strings.Clone(env.From), Runner: strings.Clone(runner)}))
	}
}

// barredBy says why a request must not run for the sake of its proposal.
func (e *Engine) barredBy(l *proposal.Life) (Refusal, bool) {
	if l == nil || e.book.Bars(l) == proposal.Open {
		return Refusal{}, false
	}
	return e.barred(l), true
}

func (e *Engine) barred(l *proposal.Life) Refusal {
	switch e.book.Bars(l) {
	case proposal.BarExpired:
		return proposalExpired(l.ID)
	case proposal.BarAlready:
		return alreadyFulfilled(l.ID, l.Run)
	}
	return proposalWithdrawn(l.ID)
}

// noteDifference: the request counts, whatever was proposed (WIRE 7.8).
func (e *Engine) noteDifference(env *wire.Envelope, l *proposal.Life) {
	if l == nil || l.Sum == sumOf(env) {
		return
	}
	e.note(Record{Event: "proposal_diff", Proposal: l.ID, Env: env.ID, From: env.From, Method: env.Method, Tool: clip(toolOf(env)),
		Detail: "the request asks for something else than what was proposed"})
}

// proposalEnds takes a withdrawal, or somebody else's reject.
func (e *Engine) proposalEnds(env *wire.Envelope) {
	end, err := env.Ending()
	if err != nil {
		e.drop(env, "proposal_ending_unreadable", err.Error())
		return
	}
	if env.Kind == wire.Reject {
		for _, of := range env.Corr {
			e.live(e.book.Rejected(env.From, of))
		}
		return
	}
	for _, of := range env.Corr {
		e.live(e.book.Withdrawn(env.From, of, clip(end.Reason)))
	}
}

// proposerBehind is whose proposal a participant's request serves.
func (e *Engine) proposerBehind(c *call) string {
	if c.life == nil || c.life.Proposer == c.from {
		return ""
	}
	return c.life.Proposer
}

// interestIn is when nobody is interested in a proposal any more.
func (e *Engine) interestIn(c *call) time.Time {
	if c.ours {
		return c.life.Until
	}
	return time.Time{}
}

// isAsked: people are asked about a call that serves a proposal.
func (e *Engine) isAsked(c *call) {
	switch {
	case c.ours:
		e.book.Asked(c.life)
	case c.life != nil:
		e.live(e.book.Claimed(c.life, proposal.Run{ID: c.env, By: c.from, Runner: e.room.me}))
	}
}

// defers tells a proposer that wants to know that people decide.
func (e *Engine) defers(c *call) {
	if c.ours && e.calls.asked[c.question] == c {
		e.stands(c.life, "defer", "queued", "")
	}
}

// stands tells a proposer how it stands with its proposal, in the words that it
// has asked for or uses itself, and that the gateway lets pass.
func (e *Engine) stands(l *proposal.Life, response, status, reason string) {
	if l.Wants {
		e.standing(wire.ProposalResponse, l, wire.Standing{Of: l.ID, State: response, Reason: reason})
	}
	if e.offers.status && l.Style == wire.Seed001 && (l.Targeted || response != "reject") {
		e.standing(wire.Status, l, wire.Standing{Of: l.ID, State: status, Reason: reason})
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
		Payload: wire.Ending{Of: l.ID, Reason: reason, Detail: detail}.Payload()}
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

// overLimit reports whether a call is denied because a limit is used up.
func overLimit(d *policy.Decision) bool {
	for _, r := range d.Reasons {
		if r.Over && r.Effect == policy.Deny && d.Verdict == policy.Deny {
			return true
		}
	}
	return false
}

// word is a refusal as a proposer hears it (WIRE 7.3, 7.8).
func (r *Refusal) word() string {
	switch r.Code {
	case codeUnknownMethod, codeServerUnavailable:
		return proposal.Incapable
	case codeInvalidRequest, codeInvalidParams:
		if r.Reason == "unknown_tool" {
			return proposal.Incapable
		}
		return proposal.Invalid
	case codePolicyDenied, codeNoApprover:
		if r.Over {
			return proposal.ResourceLimit
		}
		return proposal.Policy
	case codeTooLarge:
		return proposal.ResourceLimit
	case codeBusy, codeShuttingDown:
		return proposal.Busy
	case codeExpired:
		return proposal.Timeout
	case codeDenied:
		if r.Reason == "declined" || r.Reason == "cancelled" {
			return proposal.Disagree
		}
	}
	return proposal.Other
}

// exactly is why, for programs; where the proposer can mend it, in words too.
func (r *Refusal) exactly() string {
	if r.Code == codeInvalidParams || r.Code == codeInvalidRequest {
		return r.Reason + ": " + r.Message
	}
	return r.Reason
}

// can reports whether the server said that it has a capability, or what methods
// of a name belong to: "resources", "prompts/get".
func (h *Hello) can(what string) bool {
	name, _, method := strings.Cut(what, "/")
	if method && name == "completion" {
		name = "completions"
	}
	shape := jsonrpc.Shape{{Name: name, Slot: 0}}
	var at [1]jsonrpc.Span
	return len(h.Capabilities) > 0 && jsonrpc.Scan(h.Capabilities, jsonrpc.Passed, shape, at[:]) == nil && at[0].End != 0
}
