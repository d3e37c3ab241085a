package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
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
func (e *Engine) newCall(env *wire.Envelope, life *proposal.Life, origin inflight.Origin) *inflight.Call {
	m := &env.Message
	e.calls.Named++
	c := &inflight.Call{Name: e.session + strconv.FormatUint(e.calls.Named, 10), From: strings.Clone(env.From), Env: strings.Clone(env.ID), Method: env.Method, Key: shortKey(env.Key),
		Life: life, Origin: origin, ID: slices.Clone(m.Get(jsonrpc.ID)), Token: slices.Clone(m.Get(jsonrpc.ProgressToken)), Request: env}
	if origin == inflight.Participant {
		c.Body = e.replay.DigestOf(env.From, env.ID, env.Payload)
	}
	c.Args, c.Beside = partsOf(m, env.Method, e.server.hello.modern())
	e.calls.Enter(c)
	return c
}

// record is what every record about the call says.
func recordOf(c *inflight.Call) record.Record {
	started := c.Line == inflight.Written
	r := record.Record{Call: c.Name, Env: c.Env, From: c.From, Method: c.Method, Tool: c.Tool(), Via: c.Via(), Started: started, Known: started || c.Question != ""}
	if c.Life != nil {
		r.Proposal = c.Life.ID
	}
	return r
}

// what names the call to people, as something that somebody does: see
// [approval.Doing].
func whatOf(c *inflight.Call) string { return approval.Doing(c.Method, refusal.Clip(c.Key)) }

// start writes a request to the server. It is the only place from which a
// participant's request gets there.
func (e *Engine) start(c *inflight.Call) {
	if _, may := c.Phase.On(inflight.Start); !may {
		return // nobody has agreed to it yet, or it is over, whatever led here
	}
	if c.Life != nil && !e.takesUp(c) {
		return
	}
	e.calls.Add(c)
	c.Began = e.now
	if c.Question != "" && c.Origin != inflight.Host {
		e.replay.Renew(e.now, c.From, c.Env)
	}
	if c.Origin != inflight.Host { // the client has patience of its own, and the server's answer goes past us
		c.Alarm = e.alarms.set(e.now.Add(e.allowance(c)), func() { e.timedOut(c) })
	}
	r := recordOf(c)
	r.Event = record.Call
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

// reserve takes what the call needs from the limits, as a decision says.
func (e *Engine) reserve(c *inflight.Call, d policy.Decision) {
	c.Hold, c.Took = e.ledger.Reserve(d, e.now), d.Limits
}

// allowance is the server's time for a call.
func (e *Engine) allowance(c *inflight.Call) time.Duration {
	if c.Agreed != nil && c.Agreed.Timeout > 0 {
		return c.Agreed.Timeout
	}
	return e.timeout
}

func (e *Engine) write(c *inflight.Call, line []byte) {
	e.server.lines++
	c.Lines = e.server.lines
	e.do(Write{c.Number, jsonrpc.EscapeBreaks(line)})
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
func (e *Engine) asks(method string, params []byte, then func(*jsonrpc.Message)) *inflight.Call {
	c := &inflight.Call{Origin: inflight.Self, Began: e.now, Method: method, Then: then}
	e.calls.Add(c)
	c.Alarm = e.alarms.set(e.now.Add(e.timeout), func() { e.timedOut(c) })
	line := jsonrpc.AppendRequest(nil, e.calls.ID(c), method, params)
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
	c := e.calls.Find(m.Get(jsonrpc.ID))
	if c == nil {
		e.note(record.Record{Event: record.ServerNoise, Reason: "child_unexpected_response", Detail: "an answer to nothing we asked"})
		return
	}
	e.calls.Timeouts = 0
	e.remove(c)
	if len(e.asides) > 0 {
		e.answeredBeside(c.Number)
	}
	switch {
	case c.Origin == inflight.Self:
		e.hear(c, m)
	case c.Phase == inflight.Done:
		r := recordOf(c)
		r.Event, r.Detail = record.Late, "the server's answer came when nobody waited for it"
		e.note(r)
	default:
		e.deliver(c, m)
	}
}

// hear gives an answer to whoever made a request of our own; nil if there is none.
func (e *Engine) hear(c *inflight.Call, m *jsonrpc.Message) {
	if c.Origin == inflight.Self && !c.Phase.Settled() {
		e.calls.Settle(c)
		c.Then(m)
	}
}

// deliver sends the server's answer to the caller: the caller's id in place of
// ours, and every other byte as the server wrote it.
func (e *Engine) deliver(c *inflight.Call, m *jsonrpc.Message) {
	e.passLast(c)
	e.settle(c)
	e.ledger.Commit(c.Hold)
	e.noteSubscription(c, m)
	r := recordOf(c)
	if size := len(m.Raw) + len(c.ID); size > jsonrpc.MaxSize-envelopeRoom {
		e.noteRefusal(r, refusal.TooLarge(size))
		e.reply(c, refusal.TooLarge(size).Payload(c.ID))
	} else {
		r.Event, r.Outcome, r.Executed = record.Ended, Outcome(m), string(refusal.Yes)
		e.note(r)
		e.sendOf(wire.Reply, e.passedOn(c, m), c.Name)
	}
	how := proposal.Spoilt
	if Outcome(m) == "ok" {
		how = proposal.Served
	}
	e.served(c, how, refusal.Yes)
}

// reply sends a caller what we have to say in place of the server.
func (e *Engine) reply(c *inflight.Call, payload []byte) {
	if c.Origin == inflight.Host {
		e.do(TellHost{payload})
		return
	}
	e.send(wire.Reply, &wire.Envelope{Kind: wire.Response, To: e.audience(c), Corr: c.Links(), Method: c.Method, Key: c.Key, Payload: payload})
}

func (e *Engine) passedOn(c *inflight.Call, m *jsonrpc.Message) *wire.Envelope {
	env := &wire.Envelope{Kind: wire.Response, To: e.audience(c), Corr: c.Links(), Method: c.Method, Key: c.Key,
		Message: *m, Edits: []jsonrpc.Edit{{Field: jsonrpc.ID, Value: c.ID}}}
	if c.Method == "tools/list" {
		env.Payload, env.Edits = e.server.tools.Offered(m.Append(nil, env.Edits...)), nil
	}
	if c.Agreed != nil && len(c.Agreed.Modified) > 0 {
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
func (e *Engine) settle(c *inflight.Call) {
	e.keepInMind(c)
	e.alarms.stop(c.Progress.Alarm)
	c.Progress = inflight.Progress{}
	e.calls.Settle(c)
}

// keepInMind remembers a call that took long from now on: a machine that slept may
// have written its line long after it began.
func (e *Engine) keepInMind(c *inflight.Call) {
	if c.Line != inflight.NoLine && (c.Origin == inflight.Participant || c.Origin == inflight.Proposal) && e.now.Sub(c.Began) > soonOver {
		e.replay.Renew(e.now, c.From, c.Env)
	}
}

// soonOver is how long a call takes at the most that is remembered from its
// beginning.
const soonOver = time.Minute

// remove forgets a call that the server is done with.
func (e *Engine) remove(c *inflight.Call) {
	e.keepInMind(c)
	e.alarms.stop(c.Alarm)
	c.On(inflight.Return)
	delete(e.calls.ByNumber, c.Number)
	if len(e.calls.Lost) > 0 {
		e.stillLost(c.Number)
	}
}

// finishUnanswered ends a call that will get no answer from the server.
func (e *Engine) finishUnanswered(c *inflight.Call, r refusal.Refusal) {
	e.remove(c)
	e.endedBeside(c.Number)
	e.answerFor(c, r)
}

// answerFor gives a caller our answer in place of the server's, unless it has
// had one.
func (e *Engine) answerFor(c *inflight.Call, r refusal.Refusal) {
	if c.Origin == inflight.Self || c.Phase.Settled() {
		return
	}
	e.passLast(c)
	e.settle(c)
	switch r.Executed {
	case refusal.No:
		e.ledger.GiveBack(c.Hold)
	default:
		e.ledger.Commit(c.Hold)
	}
	if c.Origin == inflight.Proposal && c.Standing != inflight.Won {
		e.declined(c, r)
		return
	}
	if !c.SummedUp {
		e.noteRefusal(recordOf(c), r)
	}
	e.reply(c, e.worded(c.From, c.ID, r))
	how := proposal.Spoilt
	if r.Executed == refusal.No {
		how = proposal.Unserved
	}
	e.served(c, how, r.Executed)
}

// argsMax is how many bytes of arguments are kept with a decision.
const argsMax = 8 << 10

// putArgs puts on record what was decided about, if it is of most bytes or fewer: of
// what is longer its size alone. args are JSON that was read strictly, nil for none.
func putArgs(r *record.Record, p *policy.Policy, args, beside []byte, most int) {
	if size := len(args) + len(beside); size > most {
		r.ArgsBytes = size
		return
	}
	r.Args, r.Beside = p.RedactScanned(args), p.RedactScanned(beside)
}
