package engine

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// recheck says why a call that somebody agrees to may not run after all. The
// stricter of the policy then and now holds (RELIABILITY AI-14).
func (e *Engine) recheck(q *approval.Question, arguments []byte) (reason string) {
	if q.Method == "tools/call" && e.server.up {
		t := e.server.tools.Tools[q.Tool]
		switch {
		case t == nil || t.Print != q.Fingerprint:
			return approval.ToolChanged
		case t.Fits(arguments) != nil:
			return approval.BadArguments
		}
	}
	if q.Method == approval.PolicyReload {
		return ""
	}
	d := e.decideAgain(q, arguments)
	if d.Verdict == policy.Deny || d.Verdict == policy.Ask && !covers(&q.Terms, d.Ask) {
		return approval.PolicyDenied
	}
	return ""
}

// decideAgain judges a call that has its place in the limits already: the place
// is given back for as long as it takes, and taken for the arguments as they
// are now.
func (e *Engine) decideAgain(q *approval.Question, arguments []byte) policy.Decision {
	if q.Method == approval.PolicyReload { // which no policy decides about
		return policy.Decision{Verdict: policy.Allow}
	}
	c := e.calls.ByQuestion(q)
	if c != nil {
		e.ledger.GiveBack(c.Hold)
	}
	d := e.policy.Decide(e.described(q.Caller, q.Via, q.Method, q.Tool, arguments, q.Beside), &e.ledger)
	if t := e.server.tools.Tools[q.Tool]; q.Method == "tools/call" && t != nil && t.First != t.Print {
		d = e.policy.Pinned(d)
	}
	if c != nil {
		e.reserve(c, d)
	}
	if c != nil && (c.Origin == inflight.Proposal && !e.fulfils(c.Life) || c.Asks && e.policy.Proposals.Fulfil == "never") {
		return policy.Decision{Rule: "proposals.fulfil"} // which denies
	}
	return d
}

// covers reports whether those who agreed under some terms are enough for
// others too.
func covers(had, now *policy.Terms) bool {
	if now == nil || now.Need > had.Need {
		return false
	}
	if had.Delegate != nil {
		for _, name := range had.Delegate.To {
			if now.Delegate == nil || !slices.Contains(now.Delegate.To, name) {
				return false
			}
		}
	}
	for _, name := range had.Of {
		if !slices.Contains(now.Of, name) {
			return false
		}
	}
	return true
}
