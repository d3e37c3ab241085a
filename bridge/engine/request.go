package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/meta"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/replay"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A treatment is what becomes of requests for a method that is not simply
// forwarded under the policy.
type treatment uint8

const (
	forward treatment = iota // the policy decides, also about reads (DESIGN section 14)
	answer                   // answered here
	wrong                    // asked of clients, never of servers
)

var treatments = map[string]treatment{
	"initialize":      answer,
	"ping":            answer,
	"server/discover": answer,
	StandingMethod:    answer,

	"sampling/createMessage": wrong,
	"elicitation/create":     wrong,
	"roots/list":             wrong,

	"tools/request": wrong, // a proposal where the owner takes it for one, and no method of MCP
}

// methods are those of MCP that a server may be asked for, as they are folded.
var methods = func() map[string]string {
	all := map[string]string{}
	for _, method := range []string{"initialize", "ping", "server/discover", "tools/list", "tools/call", "tools/request",
		"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
		"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "subscriptions/listen",
		"tasks/list", "tasks/get", "tasks/result", "tasks/cancel", "tasks/update",
		"sampling/createMessage", "elicitation/create", "roots/list"} {
		all[fold.Method(method)] = method
	}
	return all
}()

// halts reports whether the bridge is halted for a request: what needs no server it answers.
func (e *Engine) halts(env *wire.Envelope) bool {
	return e.halted != nil && treatments[env.Method] == forward
}

// resemblesMethod reports whether a method is not one of MCP's, but is to a careless
// server: rules that name the one would say nothing of the other.
func resemblesMethod(method string) bool {
	meant := methods[fold.Method(method)]
	return meant != "" && meant != method
}

// request begins the road of a participant's call. Each step may refuse or drop it; what is
// left goes on in serve.
func (e *Engine) request(env *wire.Envelope) {
	life := e.linked(env)
	if !e.forUs(env) && !e.meantForUs(env, life) {
		if len(env.To) == 0 && life == nil {
			e.drop(env, "request_not_addressed", "requests go to exactly one participant")
		}
		e.observe(env, life, e.usesID(env.From, env.ID))
		return
	}
	e.book.Requested(env.From, env.ID)
	if e.repeated(env) {
		return
	}
	if env.Wrong != nil {
		e.refuse(env, refusal.Ambiguous(env.Wrong))
		return
	}
	if e.server.starting() && treatments[env.Method] != wrong && !e.halts(env) && e.awaitsStart(env) {
		return
	}
	e.serve(env, life, 0)
}

// serve goes on with a request that is for us and new, and whose caller has been told of
// progress so often.
func (e *Engine) serve(env *wire.Envelope, life *proposal.Life, told int) {
	env, asks := e.asksForTool(env)
	if r, refused := e.mayNotServe(life); refused {
		e.refuse(env, r)
		return
	}
	if r, refused := e.judged(env); refused {
		e.refuse(env, r)
		return
	}
	if treatments[env.Method] == answer {
		e.answerHere(env)
		return
	}
	if life != nil {
		if env.Method == plan.Method && life.Proposer != env.From {
			e.refuse(env, refusal.InvalidParams("a plan is its proposer's own, and nobody can ask for it in its place"))
			return
		}
		e.noteDifference(env, life)
	}
	origin := inflight.Participant
	if e.isHost(env.From) {
		origin = inflight.Host
	}
	c := e.newCall(env, life, origin)
	c.Asks, c.Reminders = asks, told
	e.admit(c)
}

// repeated drops a frame that was seen before: a gateway may deliver one again. One
// that could not be known again is refused.
func (e *Engine) repeated(env *wire.Envelope) bool {
	open := e.isOpen(env.From, env.ID)
	switch seen := e.replay.Take(e.now, env.From, env.ID, env.Payload); {
	case seen == replay.Altered:
		e.drop(env, "duplicate_id_different_body", "")
	case seen == replay.Repeated, open:
		e.drop(env, "duplicate_envelope", "")
	case seen == replay.Full && env.Kind == wire.Request: // to a proposal nobody owes an answer, and a response is none
		e.refuse(env, refusal.ShareIsFull())
	case seen == replay.Full:
		e.drop(env, "share_full", refusal.ShareIsFull().Message)
	default:
		return false
	}
	return true
}

// isOpen reports whether a request with this id waits for people, a server or its start, or a
// proposal may yet come to be one. Any of that may take longer than a frame is remembered.
func (e *Engine) isOpen(from, id string) bool {
	return e.calls.Open[inflight.RequestKey{From: from, Env: id}] != nil || e.book.Holds(from, id) ||
		slices.ContainsFunc(e.awaiting, func(w *awaiting) bool { return w.env.From == from && w.env.ID == id })
}

// judged says whether a request is refused, and why.
func (e *Engine) judged(env *wire.Envelope) (refusal.Refusal, bool) {
	m := &env.Message
	if m.Has(jsonrpc.Version) && m.Text(jsonrpc.Version) != "2.0" {
		return refusal.InvalidRequest(`the payload's "jsonrpc" must be "2.0"`), true
	}
	if e.stopping && (treatments[env.Method] == answer || !e.server.up) {
		return refusal.ShuttingDown(), true
	}
	if e.auditDown && treatments[env.Method] == forward {
		return refusal.AuditUnavailable(), true
	}
	if treatments[env.Method] == wrong || resemblesMethod(env.Method) {
		return refusal.UnknownMethod(env.Method), true
	}
	if !e.server.up && e.halts(env) {
		return e.isHalted(), true
	}
	if !e.server.up {
		return refusal.ServerUnavailable(e.server.why, e.server.retry), true
	}
	if treatments[env.Method] == answer {
		return refusal.Refusal{}, false
	}
	if err := e.server.hello.clash(m.Get(jsonrpc.Meta)); err != nil {
		return refusal.Ambiguous(err), true
	}
	if len(m.Get(jsonrpc.ProgressToken)) > tokenMax {
		return refusal.InvalidParams("the progress token is longer than " + strconv.Itoa(tokenMax) + " bytes"), true
	}
	if subscription := env.Method == subscribes || env.Method == "resources/unsubscribe"; subscription && len(env.Key) > keyMax {
		return refusal.InvalidParams("the uri is longer than " + strconv.Itoa(keyMax) + " bytes"), true
	}
	if env.Method == "prompts/get" && len(env.Key) > keyMax {
		return refusal.InvalidParams("the name of the prompt is longer than " + strconv.Itoa(keyMax) + " bytes"), true // else rules would see none
	}
	if env.Method == "tools/call" && len(env.Key) > keyMax {
		return refusal.InvalidParams("the name of the tool is longer than " + strconv.Itoa(keyMax) + " bytes"), true // and no server's tool has one
	}
	if params := m.Get(jsonrpc.Params); len(params) > 0 && params[0] != '{' && params[0] != 'n' {
		return refusal.InvalidParams("the params must be an object"), true // else nobody could judge them
	}
	if inflight.MayJustify(m) {
		if r, refused := meta.Unjustifiable(m); refused {
			return r, true
		}
	}
	if env.Method == "tools/call" {
		if r, refused := e.server.tools.Check(&env.Message, e.policy); refused {
			return r, true
		}
	}
	if env.Method == plan.Method {
		_, plain := meta.TakeWhy(env)
		return e.planFits(&plain.Message)
	}
	return refusal.Refusal{}, false
}

// admit decides what becomes of a request, or of a proposal, that could be
// served: it starts, is refused, or is put before somebody.
func (e *Engine) admit(c *inflight.Call) {
	c.Decision = e.decision(c)
	e.pinned(c)
	full, noRoom := e.noRoom(c)
	switch {
	case c.Origin == inflight.Proposal && c.Decision.Verdict != policy.Deny && !e.fulfils(c.Life):
		e.settle(c)
		e.leave(c.Life)
	case c.Decision.Verdict != policy.Deny && noRoom:
		c.SummedUp = !e.chargeRecord(c.From)
		e.refuseCall(c, full)
	case c.Decision.Verdict == policy.Allow:
		e.noteDecision(c)
		e.reserve(c, c.Decision)
		e.startAllowed(c)
	case c.Decision.Verdict == policy.Ask:
		e.ifReadable(c)
	default:
		c.SummedUp = !e.chargeRecord(c.From)
		e.noteDecision(c)
		e.refuseCall(c, refusalOf(c, &c.Decision))
	}
}

// decision is what the policy says of a call, or of all calls that a plan covers.
func (e *Engine) decision(c *inflight.Call) policy.Decision {
	if e.fulfilsNone(c) {
		return noFulfilment
	}
	call := e.described(c.From, c.Via(), c.Method, c.Named(), c.Args, c.Beside, c.Why)
	if c.Method == plan.Method {
		return e.foresee(call)
	}
	return e.policy.Decide(call, &e.ledger)
}

// noRoom says why nothing can be made of a call that the policy does not deny: the
// caller may come again. It is looked at after the verdict, never before: what is
// denied will never be served (DESIGN 3, FINDINGS S4).
func (e *Engine) noRoom(c *inflight.Call) (refusal.Refusal, bool) {
	switch {
	case e.stopping:
		return refusal.ShuttingDown(), true
	case e.halted != nil:
		return e.isHalted(), true
	case c.Origin == inflight.Proposal && e.room.paused != nil:
		return refusal.Busy("the bridge was asked to pause"), true
	case e.full():
		return refusal.AtCapacity(), true
	case c.Method == subscribes:
		return e.noPlace(c)
	}
	return refusal.Refusal{}, false
}

// full reports whether the server has as many calls as it may have, those that
// it has not answered in time included.
func (e *Engine) full() bool {
	return e.calls.Running >= e.maxCalls || len(e.calls.ByNumber) >= 4*e.maxCalls
}

func (e *Engine) noteDecision(c *inflight.Call) {
	if c.SummedUp {
		return
	}
	r := recordOf(c)
	r.Event, r.Verdict, r.Rule = record.Decided, c.Decision.Verdict.String(), c.Decision.Rule
	r.Body = c.Body.String()
	most := argsMax
	if c.Decision.Verdict == policy.Deny {
		most = refusedArgs
	}
	putArgs(&r, e.policy, c.Args, c.Beside, most)
	if c.Method == plan.Method {
		r.Detail = c.Decision.Why()
	}
	if c.Decision.Verdict != policy.Deny {
		r.Meta, r.Why = e.passed(c), e.policy.RedactText(c.Why)
	}
	e.note(r)
}

// ifReadable puts a call before somebody, unless nobody could read it (FINDINGS M3).
func (e *Engine) ifReadable(c *inflight.Call) {
	if why := approval.Beyond(c.Args, c.Beside); why != "" {
		c.SummedUp = !e.chargeRecord(c.From)
		e.refuseCall(c, refusal.TooMuchToAsk(whatOf(c), why))
		return
	}
	e.reserve(c, c.Decision)
	e.then(asking{c})
}

// startAllowed starts a call that no person needs to agree to. For a proposal the
// decision is put on disk first: what is said on the topic cannot be taken back.
func (e *Engine) startAllowed(c *inflight.Call) {
	if c.Origin == inflight.Proposal {
		e.awaitDisk(c, nil)
		return
	}
	e.start(c)
}

// start writes a request to the server. It is the only place from which a
// participant's request gets there.
func (e *Engine) start(c *inflight.Call) {
	if _, may := c.Phase.On(inflight.Start); !may {
		return // nobody has agreed to it yet, or it is over, whatever led here
	}
	if e.halted != nil {
		e.refuseCall(c, e.isHalted())
		return
	}
	if c.Life == nil {
		e.launch(c)
	} else if e.claim(c) {
		e.then(func() { e.launch(c) })
	}
}

// launch writes a request to the server, once start has found that it may.
func (e *Engine) launch(c *inflight.Call) {
	if _, may := c.Phase.On(inflight.Start); !may {
		return // what came of its claim has ended it
	}
	e.calls.Add(c)
	c.Began = e.now
	if c.Question != "" && c.Origin != inflight.Host {
		e.replay.Renew(e.now, c.From, c.Env)
	}
	if c.Origin != inflight.Host { // the client has patience of its own, and the server's answer goes past us
		c.Alarm = e.alarms.set(e.now.Add(e.allowance(c)), outOfTime{c})
	}
	r := recordOf(c)
	r.Event = record.Started
	if len(c.Took) > 0 {
		r.Took = e.policy.ForRecord(c.Took, c.RunsWith())
	}
	e.note(r)
	if e.staysHere(c) {
		e.doneHere(c)
		return
	}
	line := e.server.line(c, e.calls.ID(c), asAgreed(c))
	c.Request, c.Args, c.Beside = nil, nil, nil
	e.write(c, line)
}

// answerHere serves the requests that concern the bridge itself or what it
// already knows: the server is initialised once, whoever asks (WIRE W-11).
func (e *Engine) answerHere(env *wire.Envelope) {
	result := []byte("{}")
	switch env.Method {
	case "initialize":
		result = meta.PutProvides(e.server.hello.initializeResult(&env.Message), e.provides())
	case "server/discover":
		if !e.server.hello.Modern {
			e.refuse(env, refusal.UnknownMethod(env.Method))
			return
		}
		result = e.server.hello.Result
	case StandingMethod:
		result = e.standings(env)
	}
	e.replyTo(env.From, env.ID, env.Method, env.Key, jsonrpc.AppendResult(nil, env.Message.Get(jsonrpc.ID), result))
}

// asksForTool turns a request for tools/request, {name, arguments}, into the
// call it proposes, if the owner takes such and proposals are served at all; asks
// is set then, and the rules for proposals hold. Everything else comes back as it
// is, also what is longer than people are asked about, and tools/request then is a
// method nobody knows (WIRE O90). Which dialect we speak does not matter: at a gateway
// that translates, who asks may speak another, that has no proposals (FINDINGS D10).
// What becomes of it is said as of any request, as the dialect has no other words.
func (e *Engine) asksForTool(env *wire.Envelope) (call *wire.Envelope, asks bool) {
	if env.Method != "tools/request" || !e.offers.toolsRequest || e.policy.Proposals.Fulfil == "never" || len(env.Message.Raw) > approval.MaxAsked {
		return env, false
	}
	raw := env.Message.Append(nil, jsonrpc.Edit{Field: jsonrpc.Method, Value: []byte(`"tools/call"`)})
	m, err := jsonrpc.Parse(raw, jsonrpc.Called)
	if err != nil {
		return env, false
	}
	out := *env
	out.Method, out.Key, out.Payload, out.Message = "tools/call", m.Text(jsonrpc.Name), raw, m
	return &out, true
}

// newCall takes a participant's request into the books. life is the proposal that
// it serves, if any.
func (e *Engine) newCall(env *wire.Envelope, life *proposal.Life, origin inflight.Origin) *inflight.Call {
	id := env.Message.Get(jsonrpc.ID)
	why := ""
	if inflight.MayJustify(&env.Message) {
		why, env = meta.TakeWhy(env)
	}
	m := &env.Message
	e.calls.Named++
	c := &inflight.Call{Name: e.session + strconv.FormatUint(e.calls.Named, 10), From: strings.Clone(env.From), Env: strings.Clone(env.ID), Method: env.Method, Key: shortKey(env.Key),
		Life: life, Origin: origin, ID: slices.Clone(id), Why: why, Token: slices.Clone(m.Get(jsonrpc.ProgressToken)), Request: env}
	if origin == inflight.Participant {
		c.Body = e.replay.DigestOf(env.From, env.ID, env.Payload)
	}
	c.Args, c.Beside = meta.Parts(m, env.Method, e.server.hello.modern())
	e.calls.Enter(c)
	return c
}

// linked finds the proposal that a request refers to.
func (e *Engine) linked(env *wire.Envelope) *proposal.Life {
	if len(env.Corr) == 0 || !e.book.Knows(env.Corr) {
		return nil
	}
	return e.book.Linked(env.Corr, env.Method, env.Key, contentSum(env))
}

// mayNotServe says why a request must not run for the sake of its proposal.
func (e *Engine) mayNotServe(l *proposal.Life) (refusal.Refusal, bool) {
	if l == nil || e.book.Bars(l) == proposal.Open {
		return refusal.Refusal{}, false
	}
	return e.closedBy(l), true
}

// awaitDisk waits until the decision is on disk: only then does it count
// (RELIABILITY AI-13).
func (e *Engine) awaitDisk(c *inflight.Call, s *approval.Settled) {
	ticket := e.ticket()
	c.On(inflight.Agree)
	c.Agreed = s
	e.calls.Syncing[ticket] = c
	if s != nil && s.Made != nil {
		e.made[ticket] = s.Made
	}
	e.do(Sync{ticket})
}

// doneHere ends a call that stays here, as if the server had answered it.
func (e *Engine) doneHere(c *inflight.Call) {
	id := e.calls.ID(c)
	line := jsonrpc.AppendResult(nil, id, nil)
	if c.Method == plan.Method {
		line = e.beginPlan(c, id)
	} else {
		e.server.subscribers.remove(c.Key, c.From)
	}
	done, err := jsonrpc.Parse(line, jsonrpc.Passed)
	if err != nil {
		panic(err) // it is our own, with an id of our own
	}
	e.remove(c)
	e.deliver(c, &done)
}

// looked goes on with a call whose paths were looked up. Rules may have changed meanwhile, and
// its caller, its server or the proposal that it serves may have gone: so it is looked at as if
// it came now, without the place in the limits that it had.
func (e *Engine) looked(ev Looked) {
	c := e.calls.Looking[ev.Ticket]
	if c == nil {
		return
	}
	delete(e.calls.Looking, ev.Ticket)
	e.alarms.stop(c.Alarm)
	c.Alarm = nil
	e.ledger.GiveBack(c.Hold)
	if c.Phase != inflight.Looking {
		return
	}
	c.Inside, c.Beside = ev.Inside, e.besideNow(c)
	r, refused := e.mayNotServe(c.Life)
	if !refused {
		r, refused = e.judged(c.Request)
	}
	if refused {
		e.refuseCall(c, r)
		return
	}
	e.admit(c)
}
