package engine

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// The client that a hosted server belongs to may have its own tools/calls
// judged (DESIGN 14, "Passthrough"). They take the road of everybody's calls,
// from judged to start, with two differences: the server gets the client's own
// id and progress token, so that its answer and its progress go straight back; and
// what we have to say goes to the client, not to the topic.

const (
	dialogMax    = 8 << 10          // bytes of a question that a client's dialog is asked to show
	hostPatience = 50 * time.Second // what clients wait for a call, less some, where nothing tells them to wait longer
)

// A dialog is a question that the client has before its person.
type dialog struct {
	question, digest string
	form             approval.Dialog
	choice           bool // the question may be passed on
}

// hostCalled takes a tools/call of the client's. It was read strictly, and its
// id is one.
func (e *Engine) hostCalled(ev HostCalled) {
	m := ev.Message
	env := &wire.Envelope{ID: e.newID(), From: inflight.HostID, Kind: wire.Request, Method: m.Text(jsonrpc.Method), Key: m.Text(jsonrpc.Name),
		Message: m, Payload: ev.Line}
	switch {
	case e.OwnsHostCall(m.Get(jsonrpc.ID)):
		e.refuse(env, refusal.InvalidRequest("this id is that of a call that has not been answered yet; use another"))
	case !e.awaitHandshake(env):
		e.serve(env, nil)
	}
}

// OwnsHostCall reports whether a call that the client made under a raw id is
// still waited for, at the server or before it.
func (e *Engine) OwnsHostCall(id []byte) bool {
	return e.hostCall(id) != nil || slices.ContainsFunc(e.awaitingHandshake, func(w *awaiting) bool { return w.is(inflight.HostID, id) })
}

// HoldsHostCall reports whether the server cannot have such a call yet; id nil:
// whether there is any of which that is so.
func (e *Engine) HoldsHostCall(id []byte) bool {
	if id == nil {
		return slices.ContainsFunc(e.awaitingHandshake, func(w *awaiting) bool { return w.env.From == inflight.HostID }) ||
			slices.ContainsFunc(slices.Collect(maps.Values(e.calls.Open)), func(c *inflight.Call) bool { return c.Origin == inflight.Host && c.Phase.Unstarted() })
	}
	c := e.hostCall(id)
	return c == nil && e.OwnsHostCall(id) || c != nil && c.Phase.Unstarted()
}

func (e *Engine) hostCall(id []byte) *inflight.Call {
	if !e.gated() {
		return nil
	}
	return e.calls.ByCaller[inflight.HostKey(id)]
}

// hostCancelled: the client takes a call back. The server hears it only if it
// has the call.
func (e *Engine) hostCancelled(ev HostCancelled) {
	if e.withdrawAwaiting(inflight.HostID, ev.ID) {
		return
	}
	if c := e.hostCall(ev.ID); c != nil {
		if !c.Phase.Unstarted() {
			e.tellServer(ev.Line)
		}
		e.takenBack(c)
	}
}

// hostAnswered: the server has answered a call of the client's, which gets the
// answer without us.
func (e *Engine) hostAnswered(ev HostAnswered) {
	c := e.hostCall(ev.ID)
	switch {
	case ev.ID == nil:
		e.note(record.Record{Event: record.Security, Reason: "child_unexpected_response",
			Detail: "the server wrote what some take for the answer to a call that it never got; it was not passed on"})
	case c == nil:
	case c.Phase.Unstarted():
		e.note(record.Record{Event: record.Security, Call: c.Name, Tool: c.Tool(), Reason: "child_unexpected_response",
			Detail: "the server answered a call of its client's that it never got; the answer was not passed on"})
	default:
		e.letGo(c, ev.Outcome)
	}
}

// letGo ends a call that the server has and answers without us.
func (e *Engine) letGo(c *inflight.Call, outcome string) {
	e.remove(c)
	if c.Phase.Settled() {
		return // the client has taken it back
	}
	e.settle(c)
	e.ledger.Commit(c.Hold)
	r := recordOf(c)
	r.Event, r.Outcome, r.Executed = record.Ended, outcome, string(refusal.Yes)
	if outcome == "unknown" {
		r.Executed = string(refusal.Perhaps)
	}
	e.note(r)
}

// hostLeft: nobody is there any more who could be answered.
func (e *Engine) hostLeft() {
	e.awaitingHandshake = slices.DeleteFunc(e.awaitingHandshake, func(w *awaiting) bool {
		if w.env.From != inflight.HostID {
			return false
		}
		e.alarms.stop(w.alarm)
		e.note(w.withdrawn(approval.CallerLeft))
		return true
	})
	e.withdrawFor(inflight.HostID)
}

// showHost puts a question about a call before the person behind the client that
// makes it. One that is too long for a dialog is not cut: it is answered where
// it can be read.
func (e *Engine) showHost(a approval.Show) {
	if e.calls.Asked[a.ID] == nil {
		return // it has ended since
	}
	e.closeDialog(a.ID, "asked anew")
	v, ok := e.desk.ViewOf(e.now, a.ID, a.To, true)
	d := dialog{a.ID, a.Digest.String(), v.Dialog(a.Problem), v.Choice}
	schema := d.form.Schema()
	if !ok || max(len(d.form.Text), len(schema)) > dialogMax {
		e.queueDesk(e.desk.Answer(e.now, approval.Answer{Who: a.To, Question: a.ID, Digest: d.digest, Failed: true}))
		return
	}
	id := e.hostIDPrefix + e.newID()
	e.dialogs[id] = d
	params := append(jsonrpc.AppendQuote([]byte(`{"message":`), d.form.Text), `,"requestedSchema":`...)
	e.do(TellHost{jsonrpc.AppendRequest(nil, jsonrpc.AppendQuote(nil, id), elicitation, append(append(params, schema...), '}'))})
}

// closeDialog takes a question away from the client's person.
func (e *Engine) closeDialog(question, because string) {
	for _, id := range sorted(e.dialogs) {
		if e.dialogs[id].question == question {
			delete(e.dialogs, id)
			e.do(TellHost{jsonrpc.AppendCancel(nil, jsonrpc.AppendQuote(nil, id), because)})
		}
	}
}

// hostReplied takes the client's answer to a dialog. The desk alone knows whether
// it counts.
func (e *Engine) hostReplied(m *jsonrpc.Message) {
	id, _ := jsonrpc.Unquote(m.Get(jsonrpc.ID))
	d, open := e.dialogs[id]
	if !open {
		e.note(record.Record{Event: record.LateAnswer, From: inflight.HostID, Detail: "an answer to a dialog that is not open"})
		return
	}
	delete(e.dialogs, id)
	a := approval.Answer{Who: approval.Who{Door: approval.Host}, Question: d.question, Digest: d.digest}
	switch {
	case m.Class() != jsonrpc.Response:
		a.Result = []byte("{}") // which is no yes
	case m.Has(jsonrpc.Result):
		a.Result = d.decided(m.Get(jsonrpc.Result))
	default:
		a.Failed = true
	}
	e.queueDesk(e.desk.Answer(e.now, a))
}

// decided is the answer to a dialog in the words of the desk. What is not a choice of
// those offered becomes an accept without a decision, which is a no.
func (d *dialog) decided(result []byte) []byte {
	r, problem := d.form.Read(result)
	if problem != "" {
		return append(jsonrpc.AppendQuote([]byte(`{"action":"accept","content":{"reason":`), problem), "}}"...)
	}
	return r.Result(d.choice)
}

// untilClientTires is when a question about the client's own call must be over,
// so that the client hears where to decide before it gives up. Where it can be
// told to wait, by a dialog or by progress, that is never.
func (e *Engine) untilClientTires(c *inflight.Call) time.Time {
	if c.Origin != inflight.Host || c.Token != nil || e.server.hello.Elicits && slices.Contains(c.Decision.Ask.Of, "host") {
		return time.Time{}
	}
	return e.now.Add(hostPatience)
}

// worded is a refusal as its caller reads it.
func (e *Engine) worded(from string, id []byte, r refusal.Refusal) []byte {
	if !e.isHost(from) || r.Code == refusal.CodeInvalidRequest || r.Code == refusal.CodeInvalidParams {
		return r.Payload(id)
	}
	return r.Result(id, e.server.hello.Modern)
}

// Unjudged is for a call of the client's when there is nobody to judge it.
func Unjudged() refusal.Refusal {
	return refusal.Refusal{Code: refusal.CodeServerUnavailable, Reason: "server_unavailable", Executed: refusal.No, Retryable: true, RetryAfter: handshakeWait,
		Message: "the bridge has no place in its topic, so nobody can judge calls; its log says why"}
}

// progressOf is what a caller hears while people decide. The server's own
// progress goes on from there: for participants ours is counted in, but the
// client has the server's as it came, so ours must stay below it.
func (e *Engine) progressOf(c *inflight.Call) (progress, message string) {
	progress, message = strconv.Itoa(c.Reminders), "waiting for approval ["+c.Digest+"]"
	if c.Origin == inflight.Host {
		progress, message = fmt.Sprintf("0.%09d", c.Reminders), message+"; mcpx-bridge approve shows it"
	}
	return progress, message
}

// A server that is hosted belongs to a client beside us (DESIGN 14,
// "Passthrough"). It is up when that one has greeted it, not before; nothing we
// do may end it, or what its client has asked of it.

// handshakeWait is how long a request waits for the host to greet the server.
const handshakeWait = 10 * time.Second

// An awaiting request came before the server was up.
type awaiting struct {
	env   *wire.Envelope
	alarm *alarm
}

// is reports whether its caller refers to the request by a raw id.
func (w *awaiting) is(from string, id []byte) bool {
	own := w.env.Message.Get(jsonrpc.ID)
	return w.env.From == from && (bytes.Equal(own, id) || from == inflight.HostID && inflight.HostKey(own) == inflight.HostKey(id))
}

// withdrawn is the last word on a request whose caller does not want it any more.
func (w *awaiting) withdrawn(why string) record.Record {
	return record.Record{Event: record.Withdrawn, Env: w.env.ID, From: w.env.From, Method: w.env.Method, Tool: refusal.Clip(toolOf(w.env)), Reason: why, Executed: string(refusal.No)}
}

// handshakeDone goes on with the requests that waited for the server.
func (e *Engine) handshakeDone() {
	for _, w := range e.awaitingHandshake {
		e.alarms.stop(w.alarm)
		e.then(awaited{w.env})
	}
	e.awaitingHandshake = nil
}

// withdrawAwaiting ends the awaiting requests that a cancellation is about.
func (e *Engine) withdrawAwaiting(from string, id []byte) (some bool) {
	e.awaitingHandshake = slices.DeleteFunc(e.awaitingHandshake, func(w *awaiting) bool {
		if !w.is(from, id) {
			return false
		}
		some = true
		e.alarms.stop(w.alarm)
		e.note(w.withdrawn(approval.Cancelled))
		return true
	})
	return some
}

// unsubscribed ends a participant's subscription.
func (e *Engine) unsubscribed(c *inflight.Call, id []byte) {
	e.server.subscribers.remove(c.Key, c.From)
	done, err := jsonrpc.Parse(jsonrpc.AppendResult(nil, id, nil), jsonrpc.Passed)
	if err != nil {
		panic(err) // it is our own, with an id of our own
	}
	e.remove(c)
	e.deliver(c, &done)
}

// Occupied reports whether the server is at work for a participant, or may be:
// what nobody waits for any more counts for quitGrace.
func (e *Engine) Occupied() bool {
	for _, c := range e.calls.ByNumber {
		if c.Occupies() {
			return true
		}
	}
	return false
}
