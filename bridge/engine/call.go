package engine

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/meta"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// recordOf is what every record about the call says.
func recordOf(c *inflight.Call) record.Record {
	started := c.Line == inflight.Written
	r := record.Record{Call: c.Name, Env: c.Env, From: c.From, Method: c.Method, Tool: c.Tool(), Via: c.Via(), Started: started, Known: started || c.Question != ""}
	if c.Life != nil {
		r.Proposal = c.Life.ID
	}
	return r
}

// modern is the server's revision if it is 2026-07-28 or later, else "".
func (h *Hello) modern() string {
	if !h.Modern {
		return ""
	}
	return cmp.Or(h.Revision, jsonrpc.ModernRevision)
}

// passed is what reaches the server as the protocol's own, for the record; nil if nothing
// does. It may hold words of the caller's choice, which nobody is asked about.
func (e *Engine) passed(c *inflight.Call) []byte {
	passed := meta.Passed(&c.Request.Message, e.server.hello.modern())
	if passed == nil {
		return nil
	}
	return e.policy.RedactMeta(passed)
}

// besideNow is what stands beside the arguments to the server that there is now. One
// that has come back in another era may not know for the protocol's own what the one
// before did (FINDINGS A5).
func (e *Engine) besideNow(c *inflight.Call) []byte {
	_, beside := meta.Parts(&c.Request.Message, c.Method, e.server.hello.modern())
	return beside
}

// asAgreed is a call's request as it may run: as it came, or with the arguments that
// somebody put in place of its own. What stands beside them stays.
func asAgreed(c *inflight.Call) *jsonrpc.Message {
	m := &c.Request.Message
	if c.Agreed == nil || len(c.Agreed.Modified) == 0 {
		return m
	}
	edit := []jsonrpc.Edit{{Field: jsonrpc.Arguments, Value: c.Agreed.Args}}
	if c.Method != "tools/call" {
		edit[0].Field = jsonrpc.Params
	}
	changed := meta.Reread(m.AppendCall(nil, []byte("0"), c.Method, edit...))
	if beside := m.Get(jsonrpc.Meta); c.Method != "tools/call" && beside != nil {
		changed = meta.Reread(changed.AppendCall(nil, []byte("0"), c.Method, jsonrpc.Edit{Field: jsonrpc.Meta, Value: beside}))
	}
	return changed
}

// shortKey is a key that is kept, "" for one that would not fit into a kind
// anyway.
func shortKey(key string) string {
	if len(key) > keyMax {
		return ""
	}
	return key
}

// what names the call to people, as something that somebody does: see
// [approval.Doing].
func whatOf(c *inflight.Call) string { return approval.Doing(c.Method, refusal.Clip(c.Key)) }

// onRecord is a sentence with whatOf in it as it may be on record: without what the call names, which
// is one of its params, where the policy hides any of those.
func (e *Engine) onRecord(c *inflight.Call, says string) string {
	if c.Tool() != "" || bytes.Equal(e.policy.RedactScanned(c.Args), c.Args) {
		return says
	}
	return strings.ReplaceAll(says, whatOf(c), approval.Doing(c.Method, ""))
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

// A server knows each request of ours by a number, which is also its progress
// token. Where others may talk to the same server the number is a string with
// a mark in front, so that no answer to them can be taken for one to us.

func (e *Engine) write(c *inflight.Call, line []byte) {
	e.server.lines++
	c.Lines = e.server.lines
	e.do(Write{Call: c.Number, Own: c.Origin == inflight.Self, Line: jsonrpc.EscapeBreaks(line)})
}

// tellToEnd writes that nobody wants a call any more.
func (e *Engine) tellToEnd(c *inflight.Call, why string) {
	e.server.lines++
	e.do(Write{Ends: c.Number, Line: jsonrpc.EscapeBreaks(jsonrpc.AppendCancel(nil, e.calls.ID(c), why))})
}

// tellServer writes a line that is no request.
func (e *Engine) tellServer(line []byte) {
	e.server.lines++
	e.do(Write{Line: jsonrpc.EscapeBreaks(line)})
}

// askServer makes a request of our own, and returns it. then gets the answer, or nil.
func (e *Engine) askServer(method string, params []byte, then func(*jsonrpc.Message)) *inflight.Call {
	c := &inflight.Call{Origin: inflight.Self, Began: e.now, Method: method, Then: then}
	e.calls.Add(c)
	c.Alarm = e.alarms.set(e.now.Add(e.timeout), outOfTime{c})
	line := jsonrpc.AppendRequest(nil, e.calls.ID(c), method, params)
	if e.server.hello.Modern {
		if m, err := jsonrpc.Parse(line, jsonrpc.Passed); err == nil {
			line = m.Append(nil, jsonrpc.InsertMeta(e.server.hello.Meta))
		}
	}
	e.write(c, line)
	return c
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
	if r.Method == plan.Method {
		r.Args = plan.Redacted(args, p.RedactScanned)
	}
}

// bodyOnRecord is the digest of a participant's request as it goes on record.
func (e *Engine) bodyOnRecord(env *wire.Envelope) string {
	if e.isHost(env.From) {
		return ""
	}
	return e.replay.DigestOf(env.From, env.ID, env.Payload).String()
}

func (e *Engine) noteRefusal(of record.Record, r refusal.Refusal) {
	e.note(refusedOn(of, r))
}

// refusedOn puts a refusal into a record.
func refusedOn(of record.Record, r refusal.Refusal) record.Record {
	of.Event, of.Outcome = record.Ended, "error"
	of.Code, of.Reason, of.Rule, of.Executed, of.Detail = r.Code, r.Reason, r.Rule, string(r.Executed), r.Message
	of.RetryMS, of.Question, of.By = r.RetryAfter.Milliseconds(), r.Decision, r.By
	return of
}

func toolOf(env *wire.Envelope) string {
	if env.Method == "tools/call" {
		return env.Key
	}
	return ""
}

// pinned holds a call against the definition that its tool had at first
// (DESIGN 6, server.pin): a server may change a tool after it was allowed.
func (e *Engine) pinned(c *inflight.Call) {
	t := e.server.tools.Tools[c.Tool()]
	if c.Tool() == "" || t == nil || !t.Changed() {
		return
	}
	e.note(record.Record{Event: record.Security, Call: c.Name, Tool: c.Tool(), Reason: "tool_changed"})
	c.Decision = e.policy.Pinned(c.Decision)
}

// What a caller is told beside a result stands in the _meta of that; every other
// byte is the server's.

// withModified tells the caller what was changed of its call (WIRE 7.5).
func withModified(c *inflight.Call, payload []byte) []byte {
	told := jsonrpc.AppendQuote([]byte(`{"by":`), strings.Join(names(c.Agreed.By), ", "))
	told = jsonrpc.AppendQuote(append(told, `,"decision_id":`...), c.Agreed.ID)
	if c.Agreed.Said != "" {
		told = jsonrpc.AppendQuote(append(told, `,"reason":`...), c.Agreed.Said)
	}
	told = append(told, `,"modified":[`...)
	for i, pointer := range c.Agreed.Modified {
		if i > 0 {
			told = append(told, ',')
		}
		told = jsonrpc.AppendQuote(told, pointer)
	}
	return meta.Put(payload, approvalMeta, append(told, `]}`...))
}

// incomplete is the answer to a call with the mark that the record ends before
// it. An error has no place for that; it passes as it is.
func incomplete(answer *wire.Envelope) *wire.Envelope {
	marked := *answer
	if marked.Edits != nil {
		marked.Payload = answer.Message.Append(nil, answer.Edits...)
	}
	marked.Payload, marked.Edits = meta.Put(marked.Payload, "audit", []byte(`"incomplete"`)), nil
	marked.Message = jsonrpc.Message{} // or it would be kept twice while it waits
	return &marked
}

// clash says what a participant's _meta holds that is one, to a lenient server, with
// something that the server's revision has us put beside it.
func (h *Hello) clash(theirs []byte) error {
	if !h.Modern {
		return nil
	}
	return meta.Clash(h.Meta, theirs)
}

// can reports whether the server said that it has a capability, or what methods
// of a name belong to: "resources", "prompts/get".
func (h *Hello) can(what string) bool {
	name, _, method := strings.Cut(what, "/")
	if method && name == "completion" {
		name = "completions"
	}
	shape := jsonrpc.Shape{{Name: name, Slot: 0}}
	var at [1]jsonrpc.Span
	return len(h.Capabilities) > 0 && jsonrpc.Scan(h.Capabilities, jsonrpc.Passed, shape, at[:]) == nil && at[0].End != 0
}

// announces reports whether the server said that it tells of changes of a list.
func (h *Hello) announces(name string) bool {
	shape := jsonrpc.Shape{{Name: name, Slot: -1, Inside: jsonrpc.Shape{{Name: "listChanged", Slot: 0}}}}
	var at [1]jsonrpc.Span
	return len(h.Capabilities) > 0 && jsonrpc.Scan(h.Capabilities, jsonrpc.Passed, shape, at[:]) == nil &&
		bytes.Equal(h.Capabilities[at[0].Start:at[0].End], []byte("true"))
}

// line is a request as the server gets it, built anew from what was judged: method
// and params, and nothing that stands beside them (FINDINGS H4). A participant's has
// our id and token in place of its own, and what the server's revision demands; the
// client's own keeps its id and token. The params are otherwise as they came, but
// for what somebody changed.
func (s *server) line(c *inflight.Call, id []byte, m *jsonrpc.Message) []byte {
	edits := make([]jsonrpc.Edit, 0, 4)
	if c.Origin == inflight.Host {
		id = c.ID
	}
	if c.Token != nil && c.Origin != inflight.Host {
		edits = append(edits, jsonrpc.Edit{Field: jsonrpc.ProgressToken, Value: id})
	}
	if s.hello.Modern && c.Origin != inflight.Host {
		edits = append(edits, jsonrpc.InsertMeta(meta.Lacking(s.hello.Meta, m.Get(jsonrpc.Meta))))
	}
	return m.AppendCall(make([]byte, 0, len(m.Raw)+len(s.hello.Meta)+64), id, c.Method, edits...)
}

// described is a call as the policy sees it.
func (e *Engine) described(from, via, method, tool string, arguments, beside []byte, why string) policy.Call {
	call := policy.Call{From: from, Unverified: !e.isHost(from) && !e.believed(), Via: via, Method: method, Tool: tool, Args: arguments, Beside: beside, Why: why, Now: e.now}
	if t := e.server.tools.Tools[tool]; t != nil && method == "tools/call" {
		call.Hints = t.Hints
	}
	return call
}

// fulfilsNone reports whether a call is a proposal in the words of a dialect that has none, and
// the policy has none fulfilled. It may have been another when the call came.
func (e *Engine) fulfilsNone(c *inflight.Call) bool {
	return c.Asks && e.policy.Proposals.Fulfil == "never"
}

// noFulfilment denies what the policy does not have fulfilled.
var noFulfilment = policy.Decision{Rule: "proposals.fulfil"}

// staysHere reports whether a call that has started is done without a word to the
// server: the end of a subscription, for the client of the server may have one too,
// and to the server both are one. It is judged as everywhere. A plan is none of the server's.
func (e *Engine) staysHere(c *inflight.Call) bool {
	return c.Method == plan.Method || e.hosted && c.Method == "resources/unsubscribe"
}

// Bounds on what a participant can make us remember of one request.
const (
	keyMax   = 4096 // bytes of a resource URI
	tokenMax = 256  // bytes of a progress token
)

const elicitation = "elicitation/create"

const subscribes = "resources/subscribe"

// approvalMeta is where, in the _meta of progress, stands what only a bridge says: that its
// server is starting, that people are deciding, or who has agreed. Words alone a server can use
// as well.
const approvalMeta = "mcpx/approval"

func names(who []approval.Who) []string {
	var all []string
	for _, w := range who {
		all = append(all, w.String())
	}
	return all
}

// person is somebody who decided, in words for a caller.
func person(w approval.Who) string {
	if w.Door == approval.Topic {
		return w.ID
	}
	return text.Person(w.String())
}

// Outcome is how a call ended, by the server's answer.
func Outcome(m *jsonrpc.Message) string {
	switch {
	case m.Has(jsonrpc.Err):
		return "error"
	case string(m.Get(jsonrpc.IsError)) == "true":
		return "tool_error"
	}
	return "ok"
}

// keepOthersSubscribed renews a subscription that one participant has ended
// for all: the server knows only us.
func (e *Engine) keepOthersSubscribed(uri string) {
	if len(e.server.subscribers.to[uri]) > 0 {
		e.askServer(subscribes, uriParams(uri), func(*jsonrpc.Message) {})
	}
}

func (e *Engine) unsubscribe(uri string) {
	if e.server.up && !e.hosted {
		e.askServer("resources/unsubscribe", uriParams(uri), func(*jsonrpc.Message) {})
	}
}

func uriParams(uri string) []byte {
	return append(jsonrpc.AppendQuote([]byte(`{"uri":`), uri), '}')
}

// The client that a hosted server belongs to may have its own tools/calls
// judged (DESIGN 14, "Passthrough"). They take the road of everybody's calls,
// from judged to start, with two differences: the server gets the client's own
// id and progress token, so that its answer and its progress go straight back; and
// what we have to say goes to the client, not to the topic.

// handshakeWait is what a request waits for the client to greet the server.
const handshakeWait = 10 * time.Second

func (e *Engine) hostCall(id []byte) *inflight.Call {
	if !e.gated() {
		return nil
	}
	return e.calls.ByCaller[inflight.HostKey(id)]
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
