package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A plan is leave for calls to come, and takes the road of a request or proposal for the method
// [plan.Method], up to where that would go to the server: there it begins to count instead,
// and its proposer has the result. It is judged as all the calls that it covers, by either
// road, before it is asked about and again before it counts; each of them is judged once
// more when it is made (admit), and counted, on record and on disk, before it starts.

// planFits says why a plan cannot be judged, or could not count here.
func (e *Engine) planFits(m *jsonrpc.Message) (refusal.Refusal, bool) {
	params, beside := partsOf(m, plan.Method, e.server.hello.modern())
	p, err := plan.Parse(params)
	switch {
	case err != nil:
		return refusal.InvalidParams("the plan cannot be read: " + refusal.Clip(err.Error())), true
	case beside != nil:
		return refusal.InvalidParams("a plan has nothing in its _meta"), true
	case !e.believed():
		return refusal.InvalidParams("a plan is for one caller, and this gateway does not verify who makes a call"), true
	}
	for _, tool := range p.Tools() {
		if e.server.tools.Tools[tool] == nil {
			return refusal.UnknownTool(tool), true
		}
	}
	return refusal.Refusal{}, false
}

// foresee judges all calls that a plan covers, which is asked for by a call of its own. Rules may
// name the method of that, too; the default does not stand for what they say of it.
func (e *Engine) foresee(own policy.Call) policy.Decision {
	p, err := plan.Parse(own.Args)
	if err != nil {
		return policy.Decision{Method: plan.Method} // which denies
	}
	var calls []policy.Call
	if d := e.policy.Decide(own, &e.ledger); d.Line != 0 && d.Verdict != policy.Allow {
		calls = append(calls, own)
	}
	for _, road := range []string{"request", "proposal"} {
		calls = append(calls, p.Calls(func(tool string, args []byte) policy.Call {
			return e.described(own.From, road, "tools/call", tool, args, nil, own.Why)
		})...)
	}
	d := e.policy.Foresee(calls, &e.ledger)
	for _, tool := range p.Tools() {
		if t := e.server.tools.Tools[tool]; t == nil || t.Changed() {
			d = e.policy.Pinned(d)
		}
	}
	if d.Ask != nil {
		terms := *d.Ask
		terms.Edit, terms.Remember = approval.EditsOf(p), nil
		d.Ask = &terms
	}
	return d
}

// prints are the definitions of the tools of a plan, item by item; "" for one that is gone.
func (e *Engine) prints(args []byte) (all []string) {
	p, err := plan.Parse(args)
	if err != nil {
		return nil
	}
	for _, i := range p.Items {
		all = append(all, "")
		if t := e.server.tools.Tools[i.Tool]; t != nil {
			all[len(all)-1] = t.Print
		}
	}
	return all
}

// setPlan puts into a question about a plan what that is bound to.
func (e *Engine) setPlan(q *approval.Question) {
	q.Prints = e.prints(q.Args)
	q.Fingerprint = strings.Join(q.Prints, " ")
}

// planChanged reports whether the tools of a plan that is asked about are not what they were.
func (e *Engine) planChanged(q *approval.Question) bool {
	return !slices.Equal(q.Prints, e.prints(q.Args))
}

// offerWider leaves of what an answer to a question may have remembered only that of which no
// rule denies a part, or may.
func (e *Engine) offerWider(q *approval.Question) {
	var all []string
	for _, word := range q.Terms.Remember {
		if around := q.Around(word); around == nil && !policy.CoversMore(word) || around != nil && !e.deniesSome(q, around) {
			all = append(all, word)
		}
	}
	q.Terms.Remember = all
}

func (e *Engine) deniesSome(q *approval.Question, around *plan.Plan) bool {
	return e.policy.Foresee(around.Calls(func(tool string, args []byte) policy.Call {
		return e.described(q.Caller, q.Via, q.Method, tool, args, nil, q.Reason)
	}), &e.ledger).Verdict == policy.Deny
}

// lookTime is how long a call waits for what it rests on to be looked up.
const lookTime = time.Second

// look has the links followed of paths on which something rests that was agreed to ahead,
// before a question about a call is opened. The call is then admitted anew.
func (e *Engine) look(c *inflight.Call, places []plan.Place) {
	c.Looking = true
	e.tickets++
	e.calls.Looking[e.tickets] = c
	c.Alarm = e.alarms.set(e.now.Add(lookTime), Looked{Ticket: e.tickets})
	e.do(Look{e.tickets, places})
}

// usesIn are how often each item of a plan covers a call.
func usesIn(args []byte) []int {
	p, err := plan.Parse(args)
	if err != nil {
		return nil
	}
	return p.Uses()
}

// beginPlan has a plan count that was agreed to, and says so in place of the server.
func (e *Engine) beginPlan(c *inflight.Call, id []byte) []byte {
	var g approval.Grant
	ok := c.Agreed != nil // it is always asked about
	if ok {
		g, ok = e.desk.Begin(e.now, c.Agreed)
	}
	if !ok {
		return jsonrpc.AppendError(nil, id, refusal.CodeBusy, "no more can be remembered now", nil)
	}
	p, _ := plan.Parse(c.Agreed.Args)
	return jsonrpc.AppendResult(nil, id, p.Result(g.ID, g.Until))
}

// endPlans ends all that people gave leave for ahead.
func (e *Engine) endPlans(why string) {
	for _, g := range e.desk.Grants(e.now) {
		if g.Ahead() {
			e.desk.Revoke(g.ID)
			e.note(record.Record{Event: record.Revoked, From: g.Caller, Method: g.Method, Tool: g.Tool, Grant: g.ID, Reason: why})
		}
	}
}
