package engine

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// refusalOf is what the caller hears of a deny.
func refusalOf(c *inflight.Call, d *policy.Decision) refusal.Refusal {
	var r refusal.Refusal
	switch {
	case d.Unexplained != "":
		return refusal.Unexplained(whatOf(c), d.Rule, c.Via(), approval.JustificationKey)
	case c.Method == plan.Method:
		r = refusal.PlanDenied(refusal.Clip(d.Tool), d.Rule)
	default:
		r = refusal.PolicyDenied(whatOf(c), d.Rule)
	}
	r.Say, r.Over = d.Say, overLimit(d)
	return r
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
