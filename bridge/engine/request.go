package engine

import (
	"slices"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/replay"
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

// resemblesMethod reports whether a method is not one of MCP's, but is to a careless
// server: rules that name the one would say nothing of the other.
func resemblesMethod(method string) bool {
	meant := methods[fold.Method(method)]
	return meant != "" && meant != method
}

// arrived takes a frame from the topic.
func (e *Engine) arrived(env *wire.Envelope) {
	if env.From == e.room.me {
		if !e.echoed(env) && env.Kind == wire.Request && e.forUs(env) {
			e.drop(env, "from_self", "an echo or a forgery of our own id")
		}
		return
	}
	if e.isHost(env.From) {
		e.drop(env, "reserved_id", "this id is that of the client beside us, whose calls have rules of their own")
		return
	}
	e.heardFrom(env.From)
	switch env.Kind {
	case wire.Request:
		e.request(env)
	case wire.Response:
		e.rivalAnswers(env)
		e.queueBook(e.book.Answered(env.From, env.To, env.Corr, upshot(&env.Message), e.room.dialect.OpenRequests()))
		e.then(response{env})
	case wire.Proposal:
		e.offered(env)
	case wire.Withdraw, wire.Reject:
		e.proposalEnds(env)
	case wire.Status, wire.ProposalResponse:
		e.stood(env)
	case wire.Notification:
		e.notified(env)
	case wire.Presence:
		e.presence(env)
	case wire.Failure:
		e.fault(env)
	case wire.Grant:
		e.grant(env)
	case wire.Control:
		if e.forUs(env) {
			e.control(env)
		}
	}
}

// garbled takes a frame that is none to us. One that is a request or proposal with
// nothing wrong but keys that a lenient server takes for one is refused in words.
func (e *Engine) garbled(r *wire.Refused) {
	if r.Asked != nil && (r.Asked.Kind == wire.Proposal || e.forUs(r.Asked)) {
		e.arrived(r.Asked)
		return
	}
	if r.From != "" && r.ID != "" {
		e.usesID(r.From, r.ID)
	}
	if e.chargeRecord(r.From) {
		e.note(record.Record{Event: record.Dropped, Env: r.ID, From: r.From, Reason: r.Reason, Detail: r.Detail})
	}
}

// request is the road of every call: each line may end it, and only the last
// one writes to the server.
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
	if e.awaitHandshake(env) {
		return
	}
	e.serve(env, life)
}

// serve goes on with a request that is for us and new.
func (e *Engine) serve(env *wire.Envelope, life *proposal.Life) {
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
		e.noteDifference(env, life)
	}
	origin := inflight.Participant
	if e.isHost(env.From) {
		origin = inflight.Host
	}
	c := e.newCall(env, life, origin)
	c.Asks = asks
	e.admit(c)
}

// awaitHandshake has a request wait if the server may be up soon.
func (e *Engine) awaitHandshake(env *wire.Envelope) bool {
	if !e.hosted || e.server.up || e.server.retry < 0 || e.stopping || treatments[env.Method] == wrong {
		return false
	}
	if len(e.awaitingHandshake) >= e.maxCalls {
		e.refuse(env, refusal.AtCapacity())
		return true
	}
	w := &awaiting{env: env}
	w.alarm = e.alarms.set(e.now.Add(handshakeWait), func() {
		e.awaitingHandshake = slices.DeleteFunc(e.awaitingHandshake, func(o *awaiting) bool { return o == w })
		e.refuse(env, refusal.NotGreeted(handshakeWait))
	})
	e.awaitingHandshake = append(e.awaitingHandshake, w)
	return true
}

// repeated drops a frame that was seen before: a gateway may deliver one again. One
// that could not be known again is refused.
func (e *Engine) repeated(env *wire.Envelope) bool {
	switch e.replay.Take(e.now, env.From, env.ID, env.Payload) {
	case replay.Repeated:
		e.drop(env, "duplicate_envelope", "")
		return true
	case replay.Altered:
		e.drop(env, "duplicate_id_different_body", "")
		return true
	case replay.Full:
		if env.Kind == wire.Request { // to a proposal nobody owes an answer, and a response is none
			e.refuse(env, refusal.ShareIsFull())
		} else {
			e.drop(env, "share_full", refusal.ShareIsFull().Message)
		}
		return true
	}
	if e.calls.Open[inflight.RequestKey{From: env.From, Env: env.ID}] != nil { // people may take longer than anything is remembered
		e.drop(env, "duplicate_envelope", "")
		return true
	}
	return false
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
	if env.Method == "tools/call" {
		if r, refused := e.server.tools.Check(&env.Message, e.policy); refused {
			return r, true
		}
	}
	return refusal.Refusal{}, false
}

// admit decides what becomes of a request, or of a proposal, that could be
// served: it starts, is refused, or is put before somebody.
func (e *Engine) admit(c *inflight.Call) {
	c.Decision = e.policy.Decide(e.described(c.From, c.Via(), c.Method, c.Named(), c.Args, c.Beside), &e.ledger)
	e.pinned(c)
	full, noRoom := e.noRoom(c)
	switch {
	case c.Origin == inflight.Proposal && c.Decision.Verdict != policy.Deny && !e.fulfils(c.Life):
		e.settle(c)
		e.leave(c.Life)
	case c.Decision.Verdict != policy.Deny && noRoom:
		c.SummedUp = !e.chargeRecord(c.From)
		e.answerFor(c, full)
	case c.Decision.Verdict == policy.Allow:
		e.noteDecision(c)
		e.reserve(c, c.Decision)
		e.allow(c)
	case c.Decision.Verdict == policy.Ask:
		e.ifReadable(c)
	default:
		c.SummedUp = !e.chargeRecord(c.From)
		e.noteDecision(c)
		r := refusal.PolicyDenied(whatOf(c), c.Decision.Rule)
		r.Say, r.Over = c.Decision.Say, overLimit(&c.Decision)
		e.answerFor(c, r)
	}
}

// noRoom says why nothing can be made of a call that the policy does not deny: the
// caller may come again. It is looked at after the verdict, never before: what is
// denied will never be served (DESIGN 3, FINDINGS S4).
func (e *Engine) noRoom(c *inflight.Call) (refusal.Refusal, bool) {
	switch {
	case e.stopping:
		return refusal.ShuttingDown(), true
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

// described is a call as the policy sees it.
func (e *Engine) described(from, via, method, tool string, arguments, beside []byte) policy.Call {
	call := policy.Call{From: from, Unverified: !e.isHost(from) && !e.believed(), Via: via, Method: method, Tool: tool, Args: arguments, Beside: beside, Now: e.now}
	if t := e.server.tools.Tools[tool]; t != nil && method == "tools/call" {
		call.Hints = t.Hints
	}
	return call
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
	if c.Decision.Verdict != policy.Deny {
		r.Meta = e.passed(c)
	}
	e.note(r)
}

// ifReadable puts a call before somebody, unless nobody could read it (FINDINGS M3).
func (e *Engine) ifReadable(c *inflight.Call) {
	if why := approval.Beyond(c.Args, c.Beside); why != "" {
		c.SummedUp = !e.chargeRecord(c.From)
		e.answerFor(c, refusal.TooMuchToAsk(whatOf(c), why))
		return
	}
	e.reserve(c, c.Decision)
	e.then(asking{c})
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

// allow starts a call that no person needs to agree to. For a proposal the
// decision is put on disk first: what is said on the topic cannot be taken back.
func (e *Engine) allow(c *inflight.Call) {
	if c.Origin == inflight.Proposal {
		e.sync(c, nil)
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
		e.unsubscribed(c, e.calls.ID(c))
		return
	}
	line := e.server.line(c, e.calls.ID(c), asAgreed(c))
	c.Request, c.Args, c.Beside = nil, nil, nil
	e.write(c, line)
}

// staysHere reports whether a call that has started is done without a word to the
// server: the end of a subscription, for the client of the server may have one too,
// and to the server both are one. It is judged as everywhere.
func (e *Engine) staysHere(c *inflight.Call) bool {
	return e.hosted && c.Method == "resources/unsubscribe"
}

// answerHere serves the requests that concern the bridge itself or what it
// already knows: the server is initialised once, whoever asks (WIRE W-11).
func (e *Engine) answerHere(env *wire.Envelope) {
	result := []byte("{}")
	switch env.Method {
	case "initialize":
		result = withProvides(e.server.hello.initializeResult(&env.Message), e.provides())
	case "server/discover":
		if !e.server.hello.Modern {
			e.refuse(env, refusal.UnknownMethod(env.Method))
			return
		}
		result = e.server.hello.Result
	}
	e.answer(env.From, env.ID, env.Method, env.Key, jsonrpc.AppendResult(nil, env.Message.Get(jsonrpc.ID), result))
}

// notified takes a notification from a participant. What says nothing to a
// bridge is passed over.
func (e *Engine) notified(env *wire.Envelope) {
	if env.Method == "notifications/cancelled" && e.forUs(env) {
		e.cancelled(env)
	}
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
