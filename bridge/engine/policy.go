package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/meta"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// remember has a yes that is to be remembered last, whatever becomes of its call, if it is on disk;
// else nobody has given it.
func (e *Engine) remember(ev Synced) {
	g := e.made[ev.Ticket]
	if g == nil {
		return
	}
	delete(e.made, ev.Ticket)
	if ev.Err == nil {
		if slices.ContainsFunc(e.desk.Grants(e.now), func(o approval.Grant) bool { return o.ID == g.ID }) { // or it was revoked meanwhile
			e.do(Remember{*g})
		}
	} else {
		e.endGrant(*g, auditReason)
	}
}

// Grants are the yeses that are remembered, oldest first, then those that the desk has dropped as
// used up or over, while a call that they allowed has not started: it can still be taken back.
func (e *Engine) Grants(now time.Time) []approval.Grant {
	all := e.desk.Grants(now)
	for _, c := range e.calls.Unstarted() {
		if byRemembered(c) && !slices.ContainsFunc(all, func(g approval.Grant) bool { return g.ID == c.Agreed.Used.ID }) {
			all = append(all, *c.Agreed.Used)
		}
	}
	return all
}

// byRemembered reports whether a call that has not started was allowed by a remembered yes that is
// not taken back.
func byRemembered(c *inflight.Call) bool {
	return c.Phase.Unstarted() && c.Agreed != nil && c.Agreed.Used != nil && !c.Revoked
}

// endGrant ends a yes that is remembered, and puts that on record. What it allowed and has not started
// does not start any more.
func (e *Engine) endGrant(g approval.Grant, why string) {
	ends := e.desk.Revoke(g.ID)
	for _, c := range e.calls.Unstarted() {
		if byRemembered(c) && c.Agreed.Used.ID == g.ID {
			c.Revoked, ends = true, true
		}
	}
	if ends {
		e.note(record.Record{Event: record.Revoked, From: g.Caller, Method: g.Method, Tool: g.Tool, Grant: g.ID, Reason: why})
	}
}

// reload puts another policy in force. The stricter of the one at the request
// and the one now holds for every open question.
func (e *Engine) reload(p *policy.Policy) {
	if len(policy.Looser(p, e.policy)) > 0 {
		e.endPlans("policy_tightened")
	}
	e.policy, e.doubted = p, map[string]bool{}
	e.note(record.Record{Event: record.Reloaded, Detail: p.Hash(), InForce: p})
	e.doubt()
	e.book.SetRules(e.rulesOfProposals())
	e.desk.SetRedactor(p)
	e.queueDesk(e.desk.Tick(e.now)) // the time of some may be over
	for _, u := range e.desk.Unsettled() {
		e.queueDesk(e.desk.Judged(e.now, u.ID, e.decideAgain(u.Question, u.Args)))
	}
}

// toolsChanged ends questions about tools that are not what they were.
func (e *Engine) toolsChanged() {
	for _, u := range e.desk.Unsettled() {
		if u.Question.Method == plan.Method && e.planChanged(u.Question) {
			e.queueDesk(e.desk.Abort(e.now, u.ID, approval.ToolChanged))
		}
		if u.Question.Method != "tools/call" {
			continue // a prompt may have the name of a tool
		}
		now := ""
		if t := e.server.tools.Tools[u.Question.Tool]; t != nil {
			now = t.Print
		}
		if now != u.Question.Fingerprint {
			e.queueDesk(e.desk.Abort(e.now, u.ID, approval.ToolChanged))
		}
	}
}

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
	if q.AboutPolicy {
		return ""
	}
	if q.Method == plan.Method && e.server.up && e.planChanged(q) {
		return approval.ToolChanged
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
	if q.AboutPolicy { // which no policy decides about
		return policy.Decision{Verdict: policy.Allow}
	}
	c := e.calls.ByQuestion(q)
	if c != nil {
		e.ledger.GiveBack(c.Hold)
	}
	call := e.described(q.Caller, q.Via, q.Method, q.Tool, arguments, q.Beside, q.Reason)
	var d policy.Decision
	if q.Method == plan.Method {
		d = e.foresee(call)
	} else {
		d = e.policy.Decide(call, &e.ledger)
	}
	if t := e.server.tools.Tools[q.Tool]; q.Method == "tools/call" && t != nil && t.Changed() {
		d = e.policy.Pinned(d)
	}
	if c != nil {
		e.reserve(c, d)
	}
	if c != nil && (c.Origin == inflight.Proposal && !e.fulfils(c.Life) || e.fulfilsNone(c)) {
		return noFulfilment
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
	if now.Confirm != "" && had.Confirm == "" {
		return false
	}
	for _, name := range had.Of {
		if !slices.Contains(now.Of, name) {
			return false
		}
	}
	return true
}

// mostDoubts is how many warnings there may be about one policy, however often the server
// changes its tools.
const mostDoubts = 100

// doubt warns of what the policy, held against the server's tools, hardly means (DESIGN 6),
// denies that some of the tools slip past first (FINDINGS U2). Each is said once.
func (e *Engine) doubt() {
	var all []policy.Tool
	for _, name := range sorted(e.server.tools.Tools) {
		t := e.server.tools.Tools[name]
		all = append(all, policy.Tool{Name: name, InputSchema: t.Schema, Hints: t.Hints})
	}
	unreached, others := e.policy.Doubts(all)
	e.doubts("deny_unreached", unreached)
	e.doubts("policy_doubtful", others)
}

func (e *Engine) doubts(reason string, about []string) {
	for _, w := range about {
		if !e.doubted[w] && len(e.doubted) < mostDoubts {
			e.doubted[w] = true
			e.note(record.Record{Event: record.Warning, Reason: reason, Detail: w})
		}
	}
}

const auditReason = "audit_unavailable"

// fulfils reports whether we serve a proposal at all, if its call may be made.
func (e *Engine) fulfils(l *proposal.Life) bool {
	return e.policy.Proposals.Fulfil != "never" && e.book.MayServe(l) && e.mayRequest(l.Method, l.Key)
}

// mayRequest reports whether the gateway lets us make the request to ourselves
// that shows who serves a proposal. Without it nothing is served (WIRE 7.8).
func (e *Engine) mayRequest(method, key string) bool {
	if !e.room.seated {
		return true // it is held until there is a seat
	}
	_, err := e.room.dialect.Spelling(&wire.Envelope{Kind: wire.Request, Method: method, Key: key}, e.room.caps)
	return err == nil
}

// provides is what the server is for, by the word of its owner.
func (e *Engine) provides() []string {
	all := slices.Concat(e.policy.Provides, e.provided)
	slices.Sort(all)
	return slices.Compact(all)
}

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

// StandingMethod is how a participant asks what our rules say of its own calls, before it makes
// any: {"tools":[NAME…]}, answered with {"standing":{NAME:VERDICT…},"otherwise":{NAME:VERDICT…}}.
// A VERDICT is allow, ask, deny, or depends, where arguments or limits decide. Where they decide
// no more than that some calls are denied, otherwise has the verdict of all others. Of tools that
// we do not have nothing is said, nor of those beyond what one request may cost: for these it asks
// again. No member of a tool in tools/list could say it, whose bytes are the server's.
const StandingMethod = "mcpx/standing"

// The bounds of one such request: bytes of its params, and patterns that are tried.
const (
	standingBytes = 64 << 10
	standingWork  = 50_000
)

// standings answers a request for what is said of a caller's calls.
func (e *Engine) standings(env *wire.Envelope) []byte {
	var asked struct {
		Tools []string `json:"tools"`
	}
	var standing, otherwise verdicts
	params := env.Message.Get(jsonrpc.Params)
	if len(params) > standingBytes || json.Unmarshal(params, &asked) != nil {
		asked.Tools = nil
	}
	each, work, said := e.policy.Size()+1, 0, map[string]bool{}
	for _, name := range asked.Tools {
		if e.server.tools.Tools[name] == nil || said[name] {
			continue
		}
		if work += each; work > standingWork && len(said) > 0 {
			break
		}
		said[name] = true
		s := e.standing(env.From, name)
		if s.Sure() {
			standing.add(name, s.Verdict.String())
			continue
		}
		standing.add(name, "depends")
		if !s.Depends {
			otherwise.add(name, s.Verdict.String())
		}
	}
	out := append([]byte(`{"standing":{`), standing...)
	if len(otherwise) > 0 {
		out = append(append(out, `},"otherwise":{`...), otherwise...)
	}
	return append(out, "}}"...)
}

// verdicts are members of an object, by name of tool.
type verdicts []byte

func (v *verdicts) add(name, verdict string) {
	if len(*v) > 0 {
		*v = append(*v, ',')
	}
	*v = jsonrpc.AppendQuote(append(jsonrpc.AppendQuote(*v, name), ':'), verdict)
}

// standing is what is said of calls of a tool that there is.
func (e *Engine) standing(from, name string) policy.Standing {
	s := e.policy.Standing(e.described(from, "request", "tools/call", name, nil, nil, ""))
	if e.server.tools.Tools[name].Changed() {
		s.Verdict = e.policy.Pinned(policy.Decision{Verdict: s.Verdict}).Verdict
		if s.Verdict == policy.Deny {
			s = policy.Standing{Verdict: policy.Deny}
		}
	}
	return s
}

// A plan is leave for calls to come, and takes the road of a request or proposal for the method
// [plan.Method], up to where that would go to the server: there it begins to count instead,
// and its proposer has the result. It is judged as all the calls that it covers, by either
// road, before it is asked about and again before it counts; each of them is judged once
// more when it is made (admit), and counted, on record and on disk, before it starts.

// planFits says why a plan cannot be judged, or could not count here.
func (e *Engine) planFits(m *jsonrpc.Message) (refusal.Refusal, bool) {
	params, beside := meta.Parts(m, plan.Method, e.server.hello.modern())
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
	c.On(inflight.Look)
	ticket := e.ticket()
	e.calls.Looking[ticket] = c
	c.Alarm = e.alarms.set(e.now.Add(lookTime), Looked{Ticket: ticket})
	e.do(Look{ticket, places})
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
	for _, g := range e.Grants(e.now) {
		if g.Ahead() {
			e.endGrant(g, why)
		}
	}
}
