package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// server is the MCP server as last heard of.
type server struct {
	up    bool          // and its tools are known
	why   string        // if it is not up
	retry time.Duration // if it is not up: when it may be; negative: never
	hello Hello
	tools catalog.Catalog
	lines uint64 // written so far, whether or not they were accepted

	listing     bool                  // a tools/list of ours is under way
	listAgain   bool                  // and the list has changed since
	subscribers subscribers           // to its resources
	told        burst                 // its notifications
	passed      inflight.Pace         // what participants were told of progress and changed resources
	gathered    map[string]*gathering // of its lists other than tools, by the method that says so
	updated     map[string]*gathering // of resources, by their URIs
	begun, read uint64                // listings that were begun, and the last of them that was read or given up
	changed     bool                  // it said that its tools have changed, and the topic does not know yet
	listens     listens
}

func (e *Engine) serverUp(h Hello) {
	e.server.hello = h
	e.desk.SetHere(approval.Who{Door: approval.Host}, e.gated() && h.Elicits)
	e.server.listens = listens{ttl: -1}
	e.server.why, e.server.retry = "is just starting", 250*time.Millisecond
	e.calls.Timeouts = 0
	e.listTools()
	for _, uri := range e.server.subscribers.resources() {
		e.ask("resources/subscribe", uriParams(uri), func(*jsonrpc.Message) {})
	}
}

// serverDown ends every call the server had. Lines that had not wholly left
// cannot have run, save the first of them, of which a part may have.
func (e *Engine) serverDown(ev ServerDown) {
	e.server.up, e.server.listing, e.server.listAgain = false, false, false
	e.calls.Lost = nil
	e.alarms.stop(e.server.listens.again)
	e.server.listens = listens{ttl: -1}
	e.server.why, e.server.retry = ev.Cause, ev.Retry
	e.note(record.Record{Event: record.ServerExit, Reason: ev.Reason, Detail: ev.Cause, Exit: ev.ExitCode, Signal: ev.Signal, Stderr: ev.Stderr,
		RetryMS: max(ev.Retry, 0).Milliseconds()})
	inTurn(e, e.calls.InOrder(), func(c *inflight.Call) {
		if e.server.neverLeft(c, ev.Unsent) {
			e.finishUnanswered(c, refusal.ServerUnavailable(ev.Cause, ev.Retry))
		} else {
			e.finishUnanswered(c, refusal.OutcomeUnknown(ev.Cause))
		}
	})
	if ev.Retry < 0 {
		e.handshakeDone()
	}
}

// neverLeft reports whether a call's line is certainly among the last unsent
// ones and not the first of these. Lines that were not accepted are counted as
// if they had been, which can only make the answer more careful.
func (s *server) neverLeft(c *inflight.Call, unsent int) bool {
	return s.lines-c.Lines+1 < uint64(max(unsent, 0))
}

// serverNoise: a line that is no message may have been an answer, for which
// the caller then need not wait.
func (e *Engine) serverNoise(ev ServerNoise) {
	e.note(record.Record{Event: record.ServerNoise, Reason: ev.Reason, Detail: string(ev.Head), Count: ev.Count})
	switch c := e.calls.Find(ev.ID); {
	case c != nil:
		e.unreadable(c, ev.Reason)
	case ev.Answer && ev.ID == nil:
		e.answerLost(ev.Reason)
	}
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

// serverAsked answers the server's own requests. It was told at the handshake
// that we offer nothing; and nothing it says may reach a person as if it came
// from us (RELIABILITY 2.2).
func (e *Engine) serverAsked(m *jsonrpc.Message) {
	id := m.Get(jsonrpc.ID)
	method := ShortMethod(m)
	if method == "ping" {
		e.tellServer(jsonrpc.AppendResult(nil, id, []byte("{}")))
		return
	}
	if e.setAside(m) {
		return
	}
	e.refuseServer(m)
}

// refuseServer answers a question of the server's that nobody else will.
func (e *Engine) refuseServer(m *jsonrpc.Message) {
	method := ShortMethod(m)
	e.tellServer(jsonrpc.AppendError(nil, m.Get(jsonrpc.ID), refusal.CodeUnknownMethod, "a bridge offers no "+cmp.Or(method, "method of so long a name"), nil))
	e.note(record.Record{Event: record.Warning, Reason: "server_request_refused", Method: method})
}

// serverTold routes the server's notifications (WIRE W-12). Of a flood, those
// are passed over that go on record and nowhere else.
func (e *Engine) serverTold(m *jsonrpc.Message) {
	method := ShortMethod(m)
	flooded, began := e.server.told.another(e.now)
	if began {
		e.note(record.Record{Event: record.ServerNoise, Reason: "child_notification_flood", Method: method, Count: notifiedMost,
			Detail: "more notifications than this in a second: what the server logs is passed over until it says less"})
	}
	switch method {
	case "notifications/tools/list_changed":
		e.server.changed = true
		e.listTools()
	case "notifications/resources/list_changed", "notifications/prompts/list_changed":
		if e.server.hello.Modern { // what it says beside that is about what we asked
			e.gather(method, jsonrpc.AppendNotification(nil, method, nil))
			return
		}
		e.gather(method, m.Raw)
	case "notifications/cancelled":
		e.forgetAside(m)
	case "notifications/subscriptions/acknowledged":
		e.acknowledged(m)
	case "notifications/progress":
		if len(m.Raw) <= progressMax {
			e.progress(m)
		}
	case "notifications/resources/updated":
		if len(m.Get(jsonrpc.URI)) > 6*keyMax+2 {
			return // nobody can have subscribed to it
		}
		e.resourceUpdated(m.Text(jsonrpc.URI), m.Raw)
	case "notifications/message":
		if flooded {
			return
		}
		e.note(record.Record{Event: record.ServerLog, Detail: string(m.Get(jsonrpc.Params))})
	default:
		if flooded {
			return
		}
		e.note(record.Record{Event: record.ServerNoise, Reason: "notification_not_passed_on", Method: method})
	}
}

// gatherFor is how long further word that a list has changed is gathered, as one.
const gatherFor = time.Second

// A gathering is word of a changed list that was passed on a moment ago. What
// came since goes out at its end, once.
type gathering struct{ last []byte }

// gather passes on that a list has changed, at most once in gatherFor: callers
// read it anew, however often they were told.
func (e *Engine) gather(method string, raw []byte) {
	if g := e.server.gathered[method]; g != nil {
		g.last = raw
		return
	}
	e.tell(method, raw)
	g := &gathering{}
	if e.server.gathered == nil {
		e.server.gathered = map[string]*gathering{}
	}
	e.server.gathered[method] = g
	e.alarms.set(e.now.Add(gatherFor), func() {
		delete(e.server.gathered, method)
		if g.last != nil {
			e.gather(method, g.last)
		}
	})
}

// progress goes to the owner of the token, with the token it gave.
func (e *Engine) progress(m *jsonrpc.Message) {
	c := e.calls.Find(m.Get(jsonrpc.Token))
	if c == nil || c.Token == nil || c.Phase.Settled() {
		return
	}
	if m = inItsOwnName(m); m == nil {
		return
	}
	edits := []jsonrpc.Edit{{Field: jsonrpc.Token, Value: c.Token}}
	if c.Reminders > 0 && m.Has(jsonrpc.Progress) {
		edits = append(edits, jsonrpc.Edit{Field: jsonrpc.Progress, Value: further(m.Get(jsonrpc.Progress), c.Reminders)})
	}
	e.passOn(c, m.Append(nil, edits...))
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// initializeResult answers a participant's initialize: what the server said
// when we asked it, under the revision asked for if that is one of ours.
func (h Hello) initializeResult(m *jsonrpc.Message) []byte {
	revision := h.Revision
	if asked := requestedRevision(m); slices.Contains(jsonrpc.LegacyRevisions, asked) {
		revision = asked
	}
	if h.Modern {
		return h.asInitializeResult(revision)
	}
	shape := jsonrpc.Shape{{Name: "protocolVersion", Slot: 0}}
	var at [1]jsonrpc.Span
	if jsonrpc.Scan(h.Result, jsonrpc.Passed, shape, at[:]) != nil || at[0].End == 0 {
		return h.Result
	}
	result := append([]byte(nil), h.Result[:at[0].Start]...)
	result = jsonrpc.AppendQuote(result, revision)
	return append(result, h.Result[at[0].End:]...)
}

// asInitializeResult says in the words of the older revisions what a server
// of 2026-07-28 said of itself.
func (h Hello) asInitializeResult(revision string) []byte {
	if !slices.Contains(jsonrpc.LegacyRevisions, revision) {
		revision = jsonrpc.LegacyRevision
	}
	result := jsonrpc.AppendQuote([]byte(`{"protocolVersion":`), revision)
	for _, part := range []struct {
		name  string
		value []byte
		or    string
	}{
		{"capabilities", h.Capabilities, `{}`},
		{"serverInfo", h.ServerInfo, `{"name":"unknown","version":"0"}`},
		{"instructions", h.Instructions, ``},
	} {
		if part.value == nil && part.or == "" {
			continue
		}
		result = append(append(result, `,"`...), part.name...)
		result = append(append(result, `":`...), part.value...)
		if part.value == nil {
			result = append(result, part.or...)
		}
	}
	return append(result, '}')
}

// revisionMax bounds, in bytes, the params of an initialize that are read for the
// revision it asks for: all else in them is passed over.
const revisionMax = 64 << 10

// requestedRevision is what a client asks for, "" if it does not say or says it in more
// than anybody would.
func requestedRevision(m *jsonrpc.Message) string {
	params := m.Get(jsonrpc.Params)
	var at [1]jsonrpc.Span
	if len(params) > revisionMax || jsonrpc.Scan(params, jsonrpc.Judged, jsonrpc.Shape{{Name: "protocolVersion", Slot: 0}}, at[:]) != nil || at[0].End == 0 {
		return ""
	}
	revision, _ := jsonrpc.Unquote(params[at[0].Start:at[0].End])
	return revision
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

// A server may notify this often in a second before what it says to nobody in
// particular is passed over.
const notifiedMost = 1000

// A burst counts what comes in a second.
type burst struct {
	since time.Time
	n     int
	over  bool
}

// another counts one more. over: there are too many of them; began: this is
// where they became so. A burst lasts while each second has too many.
func (b *burst) another(now time.Time) (over, began bool) {
	if past := now.Sub(b.since); past >= time.Second {
		b.over = b.n > notifiedMost && past < 2*time.Second
		b.since, b.n = now, 0
	}
	b.n++
	began = b.n == notifiedMost+1 && !b.over
	b.over = b.over || began
	return b.over, began
}
