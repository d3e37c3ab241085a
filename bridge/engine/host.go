package engine

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// The client that a hosted server belongs to may have its own tools/calls
// judged (DESIGN 14, "Passthrough"). They take the road of everybody's calls,
// from judged to start, with two differences: the server gets the client's own
// id and progress token, so that its answer and its progress go straight back; and
// what we have to say goes to the client, not to the topic.

const (
	handshakeWait = 10 * time.Second // what a request waits for the client to greet the server

	dialogMax    = 8 << 10          // bytes of a question that a client's dialog is asked to show
	hostPatience = 50 * time.Second // what clients wait for a call, less some, where nothing tells them to wait longer
)

func (e *Engine) hostCall(id []byte) *inflight.Call {
	if !e.gated() {
		return nil
	}
	return e.calls.ByCaller[inflight.HostKey(id)]
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

// worded is a refusal of a method and what it names, as its caller reads it.
func (e *Engine) worded(from string, id []byte, method, key string, r refusal.Refusal) []byte {
	if !e.isHost(from) || r.Code == refusal.CodeInvalidRequest || r.Code == refusal.CodeInvalidParams {
		return r.Payload(id)
	}
	whom := cmp.Or(e.room.me, "the bridge") // the gateway may not have told us our name yet
	return r.Result(id, whom, approval.Doing(method, refusal.Clip(key)), e.server.hello.Modern)
}

// Unjudged is for a call of the client's when there is nobody to judge it.
func Unjudged() refusal.Refusal {
	return refusal.Refusal{Code: refusal.CodeServerUnavailable, Reason: "server_unavailable", Executed: refusal.No, Retryable: true, RetryAfter: handshakeWait,
		Message: "the bridge has no seat in its topic, so nobody can judge calls; its log says why"}
}

// What the server says at greater length is not gone through while everybody waits
// (FINDINGS M3): a name of a method, as it is written, and all of a progress, which is
// not passed on then.
const (
	methodMax   = 4096    // bytes
	progressMax = 4 << 20 // bytes
)

// ShortMethod is the method of what the server says, "" for one whose name is longer
// than any.
func ShortMethod(m *jsonrpc.Message) string {
	if len(m.Get(jsonrpc.Method)) > methodMax {
		return ""
	}
	return m.Text(jsonrpc.Method)
}

// A server that belongs to a client may ask the person there something while it is
// also at work for somebody in the topic. Nobody can tell whose business it is
// about, so the person does not see it (stdio.Host.Occupied). It waits, for what
// it may be about instead: if the server answers all of that without an answer to
// its question, the question was its client's own, and goes there after all.
const (
	asideWait = 10 * time.Second // no longer: the call that it may be about waits for it in turn
	asideMost = 16               // questions that wait
	asideMax  = 1 << 20          // bytes of one

	// quitGrace is how long a server that was told to end a call may still be at
	// it. After that what it asks is held to be its client's own.
	quitGrace = 5 * time.Second
)

// setAside has a question wait, and reports whether it does.
func (e *Engine) setAside(m *jsonrpc.Message) bool {
	method := ShortMethod(m)
	if !e.hosted || method != elicitation && method != "sampling/createMessage" || len(e.asides) == asideMost || len(m.Raw) > asideMax {
		return false
	}
	a := &aside{id: bytes.Clone(m.Get(jsonrpc.ID)), line: bytes.Clone(m.Raw)}
	for _, c := range e.calls.InOrder() {
		if c.Occupies() {
			a.among = append(a.among, c.Number)
		}
	}
	if len(a.among) == 0 { // it has ended meanwhile
		e.do(TellHost{a.line})
		return true
	}
	a.alarm = e.alarms.set(e.now.Add(asideWait), func() { e.refuseAsides(func(o *aside) bool { return o == a }) })
	e.asides = append(e.asides, a)
	return true
}

// answeredBeside: the server has answered a call. What it asked meanwhile was not
// about that.
func (e *Engine) answeredBeside(number uint64) {
	e.asides = slices.DeleteFunc(e.asides, func(a *aside) bool {
		a.among = slices.DeleteFunc(a.among, func(n uint64) bool { return n == number })
		if len(a.among) > 0 {
			return false
		}
		e.alarms.stop(a.alarm)
		e.do(TellHost{a.line})
		return true
	})
}

// endedBeside: a call has ended without an answer of the server's. What it asked
// meanwhile may have been about that.
func (e *Engine) endedBeside(number uint64) {
	e.refuseAsides(func(a *aside) bool { return slices.Contains(a.among, number) })
}

// refuseAsides tells the server that nobody answers what it asked.
func (e *Engine) refuseAsides(which func(*aside) bool) {
	e.asides = slices.DeleteFunc(e.asides, func(a *aside) bool {
		if !which(a) {
			return false
		}
		e.alarms.stop(a.alarm)
		m, _ := jsonrpc.Parse(a.line, jsonrpc.Passed)
		e.refuseServer(&m)
		return true
	})
}

// forgetAside: the server takes a question back.
func (e *Engine) forgetAside(m *jsonrpc.Message) {
	e.asides = slices.DeleteFunc(e.asides, func(a *aside) bool {
		if !bytes.Equal(a.id, m.Get(jsonrpc.RequestID)) {
			return false
		}
		e.alarms.stop(a.alarm)
		return true
	})
}

// refuseServer answers a question of the server's that nobody else will.
func (e *Engine) refuseServer(m *jsonrpc.Message) {
	method := ShortMethod(m)
	e.tellServer(jsonrpc.AppendError(nil, m.Get(jsonrpc.ID), refusal.CodeUnknownMethod, "a bridge offers no "+cmp.Or(method, "method of so long a name"), nil))
	e.note(record.Record{Event: record.Warning, Reason: "server_request_refused", Method: method})
}
