package engine

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// ProvidesKey is the member of _meta in our answer to initialize that says what the
// server is for: a list of words. Every dialect carries that answer, and whoever
// does not know the key passes it over. No frame of presence has a place for it.
const ProvidesKey = "mcpx/provides"

// withProvides says in an answer to initialize what the server is for, and changes
// nothing else of it.
func withProvides(result []byte, words []string) []byte {
	shape := jsonrpc.Shape{{Name: "_meta", Slot: 0}}
	var at [1]jsonrpc.Span
	if len(words) == 0 || jsonrpc.Scan(result, jsonrpc.Passed, shape, at[:]) != nil {
		return result
	}
	member := append(jsonrpc.AppendQuote(nil, ProvidesKey), ":["...)
	for i, word := range words {
		if i > 0 {
			member = append(member, ',')
		}
		member = jsonrpc.AppendQuote(member, word)
	}
	member = append(member, ']')
	into := catalog.SkipSpace(result, 0)
	if at[0].End > 0 {
		if into = at[0].Start; result[into] != '{' {
			return result
		}
	} else {
		member = append(append([]byte(`"_meta":{`), member...), '}')
	}
	if rest := catalog.SkipSpace(result, into+1); result[rest] != '}' {
		member = append(member, ',')
	}
	out := append([]byte(nil), result[:into+1]...)
	return append(append(out, member...), result[into+1:]...)
}

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
	} else if e.desk.Revoke(g.ID) {
		e.note(record.Record{Event: record.Revoked, From: g.Caller, Method: g.Method, Tool: g.Tool, Grant: g.ID, Reason: auditReason})
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

// revoke forgets a yes, and puts that on record.
func (e *Engine) revoke(id string) {
	for _, g := range e.desk.Grants(e.now) {
		if g.ID == id {
			e.note(record.Record{Event: record.Revoked, From: g.Caller, Method: g.Method, Tool: g.Tool, Grant: id})
		}
	}
	e.desk.Revoke(id)
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
		e.tickets++
		w.ticket = e.tickets
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
