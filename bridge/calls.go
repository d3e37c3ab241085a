package bridge

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Bounds on what a participant can make us remember of one request.
const (
	keyMax   = 4096 // bytes of a resource URI
	tokenMax = 256  // bytes of a progress token
)

// shortKey is a key that is kept, "" for one that would not fit into a kind
// anyway.
func shortKey(key string) string {
	if len(key) > keyMax {
		return ""
	}
	return key
}

// newCall takes a participant's request into the books. life is the proposal that
// it serves, if any.
func (e *Engine) newCall(env *wire.Envelope, life *proposal.Life, origin inflight.Origin) *call {
	m := &env.Message
	e.calls.named++
	c := &call{name: e.session + strconv.FormatUint(e.calls.named, 10), from: strings.Clone(env.From), env: strings.Clone(env.ID), method: env.Method, key: shortKey(env.Key),
		life: life, origin: origin, id: slices.Clone(m.Get(jsonrpc.ID)), token: slices.Clone(m.Get(jsonrpc.ProgressToken)), request: env}
	if origin == inflight.Participant {
		c.body = e.replay.DigestOf(env.From, env.ID, env.Payload)
	}
	c.args, c.beside = partsOf(m, env.Method, e.server.hello.modern())
	e.calls.enter(c)
	return c
}

// record is what every record about the call says.
func recordOf(c *call) Record {
	started := c.line == inflight.Written
	r := Record{Call: c.name, Env: c.env, From: c.from, Method: c.method, Tool: c.tool(), Via: c.via(), started: started, known: started || c.question != ""}
	if c.life != nil {
		r.Proposal = c.life.ID
	}
	return r
}

// what names the call to people, as something that somebody does: see
// [approval.Doing].
func whatOf(c *call) string { return approval.Doing(c.method, refusal.Clip(c.key)) }

// start writes a request to the server. It is the only place from which a
// participant's request gets there.
func (e *Engine) start(c *call) {
	if !c.phase.Unstarted() {
		return // it is over, whatever led here
	}
	if c.life != nil && !e.takesUp(c) {
		return
	}
	e.calls.add(c)
	c.began = e.now
	if c.question != "" && c.origin != inflight.Host {
		e.replay.Renew(e.now, c.from, c.env)
	}
	if c.origin != inflight.Host { // the client has patience of its own, and the server's answer goes past us
		c.alarm = e.alarms.set(e.now.Add(e.allowance(c)), func() { e.timedOut(c) })
	}
	r := recordOf(c)
	r.Event = "call"
	if len(c.took) > 0 {
		r.Took = e.policy.ForRecord(c.took, c.runsWith())
	}
	e.note(r)
	if e.staysHere(c) {
		e.unsubscribed(c, e.calls.id(c))
		return
	}
	line := e.server.line(c, e.calls.id(c), asAgreed(c))
	c.request, c.args, c.beside = nil, nil, nil
	e.write(c, line)
}

// reserve takes what the call needs from the limits, as a decision says.
func (e *Engine) reserve(c *call, d policy.Decision) {
	c.hold, c.took = e.ledger.Reserve(d, e.now), d.Limits
}

// allowance is the server's time for a call.
func (e *Engine) allowance(c *call) time.Duration {
	if c.agreed != nil && c.agreed.Timeout > 0 {
		return c.agreed.Timeout
	}
	return e.timeout
}

func (e *Engine) write(c *call, line []byte) {
	e.server.lines++
	c.lines = e.server.lines
	e.do(Write{c.number, jsonrpc.EscapeBreaks(line)})
}

// tellServer writes a line that is no request.
func (e *Engine) tellServer(line []byte) {
	e.server.lines++
	e.do(Write{0, jsonrpc.EscapeBreaks(line)})
}

// ask makes a request of our own. then gets the answer, or nil.
func (e *Engine) ask(method string, params []byte, then func(*jsonrpc.Message)) {
	e.asks(method, params, then)
}

// asks is ask, and returns the request.
func (e *Engine) asks(method string, params []byte, then func(*jsonrpc.Message)) *call {
	c := &call{origin: inflight.Self, began: e.now, method: method, then: then}
	e.calls.add(c)
	c.alarm = e.alarms.set(e.now.Add(e.timeout), func() { e.timedOut(c) })
	line := jsonrpc.AppendRequest(nil, e.calls.id(c), method, params)
	if e.server.hello.Modern {
		if m, err := jsonrpc.Parse(line, jsonrpc.Passed); err == nil {
			line = m.Append(nil, jsonrpc.InsertMeta(e.server.hello.Meta))
		}
	}
	e.write(c, line)
	return c
}

// answered takes the server's answer to one of our numbers.
func (e *Engine) answered(m *jsonrpc.Message) {
	c := e.calls.find(m.Get(jsonrpc.ID))
	if c == nil {
		e.note(Record{Event: "server_noise", Reason: "child_unexpected_response", Detail: "an answer to nothing we asked"})
		return
	}
	e.calls.timeouts = 0
	e.remove(c)
	if len(e.asides) > 0 {
		e.answeredBeside(c.number)
	}
	switch {
	case c.origin == inflight.Self:
		e.hear(c, m)
	case c.phase == inflight.Done:
		r := recordOf(c)
		r.Event, r.Detail = "late", "the server's answer came when nobody waited for it"
		e.note(r)
	default:
		e.deliver(c, m)
	}
}

// hear gives an answer to whoever made a request of our own; nil if there is none.
func (e *Engine) hear(c *call, m *jsonrpc.Message) {
	if c.origin == inflight.Self && !c.phase.Settled() {
		e.calls.settle(c)
		c.then(m)
	}
}

// deliver sends the server's answer to the caller: the caller's id in place of
// ours, and every other byte as the server wrote it.
func (e *Engine) deliver(c *call, m *jsonrpc.Message) {
	e.passLast(c)
	e.settle(c)
	e.ledger.Commit(c.hold)
	e.noteSubscription(c, m)
	r := recordOf(c)
	if size := len(m.Raw) + len(c.id); size > jsonrpc.MaxSize-envelopeRoom {
		e.noteRefusal(r, refusal.TooLarge(size))
		e.reply(c, refusal.TooLarge(size).Payload(c.id))
	} else {
		r.Event, r.Outcome, r.Executed = "answered", outcome(m), string(refusal.Yes)
		e.note(r)
		e.sendOf(wire.Reply, e.passedOn(c, m), c.name)
	}
	how := proposal.Spoilt
	if outcome(m) == "ok" {
		how = proposal.Served
	}
	e.served(c, how, refusal.Yes)
}

// reply sends a caller what we have to say in place of the server.
func (e *Engine) reply(c *call, payload []byte) {
	if c.origin == inflight.Host {
		e.do(TellHost{payload})
		return
	}
	e.send(wire.Reply, &wire.Envelope{Kind: wire.Response, To: e.audience(c), Corr: c.links(), Method: c.method, Key: c.key, Payload: payload})
}

func (e *Engine) passedOn(c *call, m *jsonrpc.Message) *wire.Envelope {
	env := &wire.Envelope{Kind: wire.Response, To: e.audience(c), Corr: c.links(), Method: c.method, Key: c.key,
		Message: *m, Edits: []jsonrpc.Edit{{Field: jsonrpc.ID, Value: c.id}}}
	if c.method == "tools/list" {
		env.Payload, env.Edits = e.server.tools.Offered(m.Append(nil, env.Edits...)), nil
	}
	if c.agreed != nil && len(c.agreed.Modified) > 0 {
		env.Payload, env.Edits = withModified(c, m.Append(nil, env.Edits...)), nil
	}
	if env.Edits == nil {
		env.Message = jsonrpc.Message{} // or it would be kept twice while it waits
	}
	return env
}

// envelopeRoom is left for the envelope around a payload. A kind alone may have
// 4096 characters, each of which may be written as an escape.
const envelopeRoom = 32 << 10

// settle ends a call for its caller.
func (e *Engine) settle(c *call) {
	e.keepInMind(c)
	e.alarms.stop(c.progress.alarm)
	c.progress = progressing{}
	e.calls.settle(c)
}

// keepInMind remembers a call that took long from now on: a machine that slept may
// have written its line long after it began.
func (e *Engine) keepInMind(c *call) {
	if c.line != inflight.NoLine && (c.origin == inflight.Participant || c.origin == inflight.Proposal) && e.now.Sub(c.began) > soonOver {
		e.replay.Renew(e.now, c.from, c.env)
	}
}

// soonOver is how long a call takes at the most that is remembered from its
// beginning.
const soonOver = time.Minute

// remove forgets a call that the server is done with.
func (e *Engine) remove(c *call) {
	e.keepInMind(c)
	e.alarms.stop(c.alarm)
	c.on(inflight.Return)
	delete(e.calls.byNumber, c.number)
	if len(e.calls.lost) > 0 {
		e.stillLost(c.number)
	}
}

// finishUnanswered ends a call that will get no answer from the server.
func (e *Engine) finishUnanswered(c *call, r refusal.Refusal) {
	e.remove(c)
	e.endedBeside(c.number)
	e.answerFor(c, r)
}

// answerFor gives a caller our answer in place of the server's, unless it has
// had one.
func (e *Engine) answerFor(c *call, r refusal.Refusal) {
	if c.origin == inflight.Self || c.phase.Settled() {
		return
	}
	e.passLast(c)
	e.settle(c)
	switch r.Executed {
	case refusal.No:
		e.ledger.GiveBack(c.hold)
	default:
		e.ledger.Commit(c.hold)
	}
	if c.origin == inflight.Proposal && c.standing != inflight.Won {
		e.declined(c, r)
		return
	}
	if !c.summedUp {
		e.noteRefusal(recordOf(c), r)
	}
	e.reply(c, e.worded(c.from, c.id, r))
	how := proposal.Spoilt
	if r.Executed == refusal.No {
		how = proposal.Unserved
	}
	e.served(c, how, r.Executed)
}
