package engine

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// The params of a request are judged whole, in two parts: the arguments, which rules
// look at, and what stands beside them. What is in neither is the protocol's own (see
// [policy.OfProtocol]). One rule, for whoever calls and by whatever road (DESIGN 4,
// FINDINGS H3).

// partsOf parts the params of a request for a method. arguments are those of a
// tools/call, and of any other method the params without _meta; nil if there are
// none. beside is one object of all other members that reach the server, nil if
// there are none; revision says what server that is, see [Hello.modern]. Both may refer to the message.
func partsOf(m *jsonrpc.Message, method, revision string) (arguments, beside []byte) {
	if method == "tools/call" {
		return m.Get(jsonrpc.Arguments), besideOf(m, true, revision)
	}
	params := m.Get(jsonrpc.Params)
	switch {
	case len(params) == 0 || params[0] != '{':
		return nil, nil
	case !m.Has(jsonrpc.Meta):
		return params, nil
	}
	return m.AppendParams(nil, jsonrpc.Edit{Field: jsonrpc.Meta}), besideOf(m, false, revision)
}

// besideOf gathers what stands beside the arguments: of a call of a tool all members
// of params but name and arguments, else those of _meta alone.
func besideOf(m *jsonrpc.Message, call bool, revision string) (beside []byte) {
	for e := range m.Entries(jsonrpc.Params) {
		switch {
		case e.Field == jsonrpc.Meta:
			beside = appendMeta(beside, m, e, revision)
		case call && e.Field != jsonrpc.Name && e.Field != jsonrpc.Arguments:
			beside = appendEntry(beside, e)
		}
	}
	if beside == nil {
		return nil
	}
	return append(beside, '}')
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

// modern is the server's revision if it is 2026-07-28 or later, else "".
func (h *Hello) modern() string {
	if !h.Modern {
		return ""
	}
	return cmp.Or(h.Revision, jsonrpc.ModernRevision)
}

// appendMeta appends _meta without what the protocol puts there, if anything is left.
func appendMeta(beside []byte, m *jsonrpc.Message, meta jsonrpc.Entry, revision string) []byte {
	switch meta.Value[0] {
	case 'n':
		return beside
	case '{':
	default:
		return appendEntry(beside, meta)
	}
	_, others := metaParts(m, revision)
	if others == nil {
		return beside
	}
	meta.Value = append(others, '}')
	return appendEntry(beside, meta)
}

// maxPassed bounds what passes as the protocol's own, so that it can be put on record.
const maxPassed = 4 << 10

// metaParts parts the members of a _meta into what passes as the protocol's own and what
// is judged. Both are objects without their end, nil if they are empty. The progress token
// is in neither: the server gets one of ours.
func metaParts(m *jsonrpc.Message, revision string) (passed, others []byte) {
	for e := range m.Entries(jsonrpc.Meta) {
		key := unquoted(e.Key)
		switch own := policy.OfProtocol(key, e.Value, revision); {
		case own && string(key) == "progressToken":
		case own && len(passed)+len(e.Key)+len(e.Value) < maxPassed:
			passed = appendEntry(passed, e)
		default:
			others = appendEntry(others, e)
		}
	}
	return passed, others
}

// passed is what reaches the server as the protocol's own, for the record; nil if nothing
// does. It may hold words of the caller's choice, which nobody is asked about.
func (e *Engine) passed(c *inflight.Call) []byte {
	m := &c.Request.Message
	if meta := m.Get(jsonrpc.Meta); len(meta) == 0 || meta[0] != '{' {
		return nil
	}
	passed, _ := metaParts(m, e.server.hello.modern())
	if passed == nil {
		return nil
	}
	return e.policy.RedactMeta(append(passed, '}'))
}

// unquoted is the name that a key says.
func unquoted(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key[1 : len(key)-1]
	}
	name, _ := jsonrpc.Unquote(key)
	return []byte(name)
}

// appendEntry appends a member to an object that is begun, and begins one of nothing.
func appendEntry(object []byte, e jsonrpc.Entry) []byte {
	if object == nil {
		object = append(object, '{')
	} else {
		object = append(object, ',')
	}
	return append(append(append(object, e.Key...), ':'), e.Value...)
}

// besideNow is what stands beside the arguments to the server that there is now. One
// that has come back in another era may not know for the protocol's own what the one
// before did (FINDINGS A5).
func (e *Engine) besideNow(c *inflight.Call) []byte {
	_, beside := partsOf(&c.Request.Message, c.Method, e.server.hello.modern())
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
	changed := reread(m.AppendCall(nil, []byte("0"), c.Method, edit...))
	if meta := m.Get(jsonrpc.Meta); c.Method != "tools/call" && meta != nil {
		changed = reread(changed.AppendCall(nil, []byte("0"), c.Method, jsonrpc.Edit{Field: jsonrpc.Meta, Value: meta}))
	}
	return changed
}

// reread reads a line that was built of parts that had been read before.
func reread(line []byte) *jsonrpc.Message {
	m, err := jsonrpc.Parse(line, jsonrpc.Rules{Depth: jsonrpc.Judged.Depth + 1, Size: 2 * jsonrpc.MaxSize})
	if err != nil {
		panic(err) // arguments are scanned strictly when they come, and when they are edited
	}
	return &m
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
	return withMeta(payload, approvalMeta, append(told, `]}`...))
}

// incomplete is the answer to a call with the mark that the record ends before
// it. An error has no place for that; it passes as it is.
func incomplete(answer *wire.Envelope) *wire.Envelope {
	marked := *answer
	if marked.Edits != nil {
		marked.Payload = answer.Message.Append(nil, answer.Edits...)
	}
	marked.Payload, marked.Edits = withMeta(marked.Payload, "audit", []byte(`"incomplete"`)), nil
	marked.Message = jsonrpc.Message{} // or it would be kept twice while it waits
	return &marked
}

// withMeta puts a member into the _meta of a result, in place of the server's if
// that has one of the name: there must not be two of them. payload is an answer
// that was scanned before. One without an object to put it in is returned as it
// is.
func withMeta(payload []byte, name string, value []byte) []byte {
	shape := jsonrpc.Shape{{Name: "result", Slot: 0, Inside: jsonrpc.Shape{{Name: "_meta", Slot: 1, Inside: jsonrpc.Shape{{Name: name, Slot: 2}}}}}}
	var at [3]jsonrpc.Span
	if jsonrpc.Scan(payload, jsonrpc.Passed, shape, at[:]) != nil {
		return payload
	}
	member := append(append(jsonrpc.AppendQuote(nil, name), ':'), value...)
	switch result, meta, old := at[0], at[1], at[2]; {
	case old.End != 0:
		return append(append(bytes.Clone(payload[:old.Start]), value...), payload[old.End:]...)
	case meta.End != 0 && payload[meta.Start] == '{':
		return insertMembers(payload, meta, member)
	case result.End != 0 && payload[result.Start] == '{' && meta.End == 0:
		return insertMembers(payload, result, append(append([]byte(`"_meta":{`), member...), '}'))
	}
	return payload
}

// insertMembers puts members at the beginning of the object at a span.
func insertMembers(text []byte, object jsonrpc.Span, members []byte) []byte {
	at := object.Start + 1
	out := append(bytes.Clone(text[:at]), members...)
	if rest := bytes.TrimLeft(text[at:object.End], " \t\r\n"); rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, text[at:]...)
}

// clash says what a participant's _meta holds that is one, to a lenient server, with
// something that the server's revision has us put beside it.
func (h *Hello) clash(meta []byte) error {
	if !h.Modern || len(meta) < 3 || meta[0] != '{' {
		return nil
	}
	beside := h.metaBeside(meta)
	if len(beside) == 0 {
		return nil
	}
	both := slices.Concat([]byte("{"), beside, []byte(","), meta[1:])
	if err := jsonrpc.Scan(both, jsonrpc.Called, nil, nil); jsonrpc.Is(err, jsonrpc.KeysAlike) {
		return err
	}
	return nil
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
		edits = append(edits, jsonrpc.InsertMeta(s.hello.metaBeside(m.Get(jsonrpc.Meta))))
	}
	return m.AppendCall(make([]byte, 0, len(m.Raw)+len(s.hello.Meta)+64), id, c.Method, edits...)
}

// metaBeside returns the members of Meta that a request's own _meta lacks. One
// that stood there twice would be for each server to choose from.
func (h *Hello) metaBeside(meta []byte) []byte {
	var has, ours map[string]jsontext.Value
	if len(meta) == 0 || json.Unmarshal(meta, &has) != nil || json.Unmarshal(slices.Concat([]byte("{"), h.Meta, []byte("}")), &ours) != nil {
		return h.Meta
	}
	var beside []byte
	for _, key := range sorted(ours) {
		if has[key] != nil {
			continue
		}
		if beside != nil {
			beside = append(beside, ',')
		}
		beside = append(append(jsonrpc.AppendQuote(beside, key), ':'), ours[key]...)
	}
	return beside
}

// described is a call as the policy sees it.
func (e *Engine) described(from, via, method, tool string, arguments, beside []byte, why string) policy.Call {
	call := policy.Call{From: from, Unverified: !e.isHost(from) && !e.believed(), Via: via, Method: method, Tool: tool, Args: arguments, Beside: beside, Why: why, Now: e.now}
	if t := e.server.tools.Tools[tool]; t != nil && method == "tools/call" {
		call.Hints = t.Hints
	}
	return call
}

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
