package engine

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func (e *Engine) serverUp(h Hello) {
	e.server.hello = h
	e.desk.SetHere(approval.Who{Door: approval.Host}, e.gated() && h.Elicits)
	e.server.listens = listens{ttl: -1}
	e.server.why, e.server.retry = "is just starting", 250*time.Millisecond
	e.calls.Timeouts = 0
	e.listTools()
	for _, uri := range e.server.subscribers.resources() {
		e.askServer("resources/subscribe", uriParams(uri), func(*jsonrpc.Message) {})
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
		if e.server.notStarted(c, ev.Unsent) {
			e.finishUnanswered(c, refusal.ServerUnavailable(ev.Cause, ev.Retry))
		} else {
			e.finishUnanswered(c, refusal.OutcomeUnknown(ev.Cause))
		}
	})
	if ev.Retry < 0 {
		e.startIsOver()
	}
}

// notStarted reports whether a call's line is certainly among the last unsent
// ones and not the first of these. Lines that were not accepted are counted as
// if they had been, which can only make the answer more careful.
func (s *server) notStarted(c *inflight.Call, unsent int) bool {
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
		said := jsonrpc.AppendNotification(nil, method, nil)
		if !e.server.hello.Modern { // one that is says beside it what is about our own question
			said = asHeardOr(m.Raw, said)
		}
		e.gather(method, said)
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

// relistAfter is when a listing is tried again that never reached the server.
const relistAfter = 5 * time.Second

// pagesMax bounds a listing whose cursors never end.
const pagesMax = 1000

// listMax bounds the bytes of a listing, as far as it takes another page to go
// beyond it.
const listMax = 32 << 20

// listTools reads the server's tools afresh. Until the last page is in, the
// old list holds.
func (e *Engine) listTools() {
	if e.server.listing {
		e.server.listAgain = true
		return
	}
	e.server.listing = true
	e.server.begun++
	e.listPage(&listing{so: catalog.New(), ttl: -1}, []byte("{}"))
}

// A listing is a list of tools being read.
type listing struct {
	so          catalog.Catalog
	page, bytes int // read so far
	ttl         time.Duration
}

func (e *Engine) listPage(l *listing, params []byte) {
	e.askServer("tools/list", params, func(m *jsonrpc.Message) {
		next, err := e.readPage(l, m)
		if err != nil {
			e.listed(e.server.tools.OrEmpty(), err)
			return
		}
		l.page++
		l.bytes += len(m.Raw)
		if next != "" && (l.page == pagesMax || l.bytes > listMax) {
			e.note(record.Record{Event: record.Security, Reason: "tools_cut", Count: l.page,
				Detail: fmt.Sprintf("the server's list of tools has no end: it was given up after %d pages of %d bytes, so tools may be missing", l.page, l.bytes)})
			next = ""
		}
		if next == "" {
			e.server.listens.ttl = l.ttl
			e.listed(l.so, nil)
			return
		}
		params := append(jsonrpc.AppendQuote([]byte(`{"cursor":`), next), '}')
		e.listPage(l, params)
	})
}

var (
	errNoTools    = errors.New("the server lists no tools")
	errUnanswered = errors.New("tools/list was not answered")
)

func (e *Engine) readPage(l *listing, m *jsonrpc.Message) (next string, err error) {
	if m == nil {
		return "", errUnanswered
	}
	if m.Has(jsonrpc.Err) {
		return "", errNoTools
	}
	var page struct {
		Tools      []jsontext.Value `json:"tools"`
		NextCursor string           `json:"nextCursor"`
		TTL        jsontext.Value   `json:"ttlMs"`
	}
	if err := json.Unmarshal(jsonrpc.Mend(m.Get(jsonrpc.Result)), &page, catalog.Lenient); err != nil {
		return "", fmt.Errorf("tools/list cannot be read: %w", err)
	}
	if ttl := timeToLive(page.TTL); ttl >= 0 && (l.ttl < 0 || ttl < l.ttl) {
		l.ttl = ttl
	}
	for _, raw := range page.Tools {
		if why := l.so.Add(raw); why != "" {
			e.note(record.Record{Event: record.Warning, Reason: why, Detail: catalog.Shortfalls[why] + string(raw[:min(len(raw), 120)])})
		}
	}
	return page.NextCursor, nil
}

// listed ends a listing. err tells why the list is not a new one.
func (e *Engine) listed(c catalog.Catalog, err error) {
	e.server.listing = false
	e.server.read = e.server.begun
	if err != nil && !errors.Is(err, errNoTools) {
		e.note(record.Record{Event: record.Warning, Reason: "tools_unknown", Detail: err.Error()})
		if !e.server.up && e.hosted {
			e.alarms.set(e.now.Add(relistAfter), e.listTools)
			return
		}
		if !e.server.up {
			e.do(Restart{err.Error()})
			return
		}
		if errors.Is(err, errUnanswered) {
			e.alarms.set(e.now.Add(relistAfter), e.relist)
		}
	}
	first := !e.server.up
	others := first || !c.Same(e.server.tools)
	news := others || e.server.changed || !e.server.hello.Modern
	if first && !e.server.met {
		news = e.hosted || e.server.asked
	}
	c.ChangedSince(e.server.tools)
	e.server.tools, e.server.up, e.server.met, e.server.changed = c, true, true, false
	if first {
		e.note(record.Record{Event: record.ServerUp, Tools: len(c.Tools), PID: e.server.hello.PID})
		e.do(Serving{Tools: len(c.Tools), PID: e.server.hello.PID})
	}
	if others {
		e.doubt()
	}
	if news { // not each time that we look
		e.tellToolsChanged()
	}
	if e.server.listAgain {
		e.server.listAgain = false
		e.listTools()
	}
	e.toolsChanged()
	e.then(func() {
		if first {
			e.listen()
			e.startParked()
			e.startIsOver()
		} else {
			e.startReread(err != nil)
		}
	})
	e.then(e.rereadLater)
}

func (e *Engine) tellToolsChanged() {
	e.tell("notifications/tools/list_changed", []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
}

func (e *Engine) relist() {
	if e.server.up {
		e.listTools()
	}
}

// further is the server's own progress, which must go on from what was reported while people
// decided. That is less than any step of a server's, so what it says stays as it came, but
// for a progress of nothing.
func further(progress []byte, reminders int) []byte {
	if _, vast := catalog.Numeral(progress).(catalog.VastNumber); vast || reminders == 0 {
		return progress
	}
	n, ok := new(big.Rat).SetString(string(progress))
	if !ok {
		return progress
	}
	if n.Cmp(big.NewRat(int64(reminders), 1e9)) > 0 {
		return progress
	}
	n.Add(n, big.NewRat(int64(reminders)+1, 1e9))
	return []byte(n.FloatString(9))
}

// A server of 2026-07-28 says nothing of its own accord: that its tools have
// changed it tells only those who listen (MCP.md 3.1). So we listen where it
// offers that. Where it does not, its tools are read again every now and then:
// after as long as it says itself that a list holds (ttlMs), but no sooner than
// rereadSoonest and no later than rereadLatest. That is how long a call which a
// rule allows may run under a definition that is not any more what was judged.
//
// What somebody agreed to, now or for longer, does not rely on that: the tools are
// read once more before it starts, and the call is written in the very Step in
// which the answer to that comes. What the server does to a tool after that answer
// and before it reads the call, nobody can see.
const (
	rereadSoonest = 5 * time.Second
	rereadUsual   = 30 * time.Second // where the server does not say
	rereadLatest  = time.Minute
)

// listen asks a server that tells of changes to do so.
func (e *Engine) listen() {
	s := &e.server
	if !s.hello.Modern || s.listens.tried || !s.hello.announces("tools") {
		return
	}
	s.listens.tried = true
	var filter strings.Builder
	filter.WriteString(`{"toolsListChanged":true`)
	for _, of := range []string{"prompts", "resources"} {
		if s.hello.announces(of) {
			filter.WriteString(`,"` + of + `ListChanged":true`)
		}
	}
	s.listens.call = e.askServer("subscriptions/listen", []byte(`{"notifications":`+filter.String()+`}}`), func(*jsonrpc.Message) {
		s.listens.call, s.listens.heard = nil, false
		e.rereadLater()
	})
	e.alarms.stop(s.listens.call.Alarm) // it has no answer but its end
	s.listens.call.Alarm = nil
}

// listenNoMore takes our question back: beside its own client the server goes on
// without us.
func (e *Engine) listenNoMore() {
	e.alarms.stop(e.server.listens.again)
	if c := e.server.listens.call; c != nil {
		e.server.listens.call = nil
		e.remove(c)
		e.calls.Settle(c)
		e.tellToEnd(c, "the bridge stops")
	}
}

// acknowledged: the server says of what it will tell us.
func (e *Engine) acknowledged(m *jsonrpc.Message) {
	c := e.server.listens.call
	shape := jsonrpc.Shape{{Name: "notifications", Slot: -1, Inside: jsonrpc.Shape{{Name: "toolsListChanged", Slot: 0}}}}
	var at [1]jsonrpc.Span
	params := m.Get(jsonrpc.Params)
	if c == nil || e.calls.Find(m.Subscription()) != c || jsonrpc.Scan(params, jsonrpc.Passed, shape, at[:]) != nil {
		return
	}
	if e.server.listens.heard = string(params[at[0].Start:at[0].End]) == "true"; e.server.listens.heard {
		e.alarms.stop(e.server.listens.again)
		e.listTools() // it may have changed before we listened
	}
}

// rereadLater sees to it that the tools of a server to which we do not listen are
// read again.
func (e *Engine) rereadLater() {
	s := &e.server
	e.alarms.stop(s.listens.again)
	s.listens.again = nil
	if !s.hello.Modern || s.listens.heard || !s.up || e.stopping {
		return
	}
	wait := rereadUsual
	if s.listens.ttl >= 0 {
		wait = min(max(s.listens.ttl, rereadSoonest), rereadLatest)
	}
	s.listens.again = e.alarms.set(e.now.Add(wait), e.relist)
}

// readsFirst reports whether a call that somebody agreed to waits until the tools
// of its server were read once more, and has it wait then, as long as the
// agreement lasts.
func (e *Engine) readsFirst(c *inflight.Call) bool {
	if !e.server.hello.Modern || c.Method != "tools/call" || c.Reread != 0 && c.Reread <= e.server.read {
		return false
	}
	e.park(c)
	e.listTools()
	return true
}

// startReread goes on with the calls that waited for this listing. unread: it
// failed, so nobody knows what they would run.
func (e *Engine) startReread(unread bool) {
	parked := e.calls.Parked
	e.calls.Parked = nil
	inTurn(e, parked, func(c *inflight.Call) {
		if c.Reread == 0 || c.Reread > e.server.read {
			e.calls.Parked = append(e.calls.Parked, c)
			return
		}
		e.alarms.stop(c.Alarm)
		switch {
		case c.Phase == inflight.Done: // its caller took it back, or is gone
		case unread && e.auditDown: // our question did not even leave
			e.refuseCall(c, refusal.AuditUnavailable())
		case unread:
			e.refuseCall(c, notReread())
		default:
			c.On(inflight.Resume)
			e.then(resumed{c})
		}
	})
}

// notReread is for a call that was agreed to and whose tool the server does not
// describe any more.
func notReread() refusal.Refusal {
	return refusal.Refusal{Code: refusal.CodeServerUnavailable, Reason: "server_unavailable", Executed: refusal.No, Retryable: true, RetryAfter: relistAfter,
		Message: "the server did not say once more what its tools are, so what was approved did not start"}
}

// timeToLive is what the server says of how long a list holds, negative if it does
// not.
func timeToLive(ms jsontext.Value) time.Duration {
	n, err := strconv.ParseFloat(string(ms), 64)
	if err != nil || !(n >= 0) {
		return -1
	}
	return time.Duration(math.Min(n, float64(rereadLatest/time.Millisecond))) * time.Millisecond
}

// What was agreed to waits here for the server: until it is up, or has said once
// more what its tools are (see readsFirst).

// park has a call that was agreed to wait, as long as the agreement lasts, until a
// listing that has not begun yet was read: one that is under way may tell of what was
// before.
func (e *Engine) park(c *inflight.Call) {
	c.On(inflight.Park)
	c.Reread = e.server.begun + 1
	e.calls.Parked = append(e.calls.Parked, c)
	c.Alarm = e.alarms.set(c.Agreed.StartBy, func() { e.unpark(c) })
}

// unpark gives up on a server that did not come back in time.
func (e *Engine) unpark(c *inflight.Call) {
	for i, p := range e.calls.Parked {
		if p == c {
			e.calls.Parked = append(e.calls.Parked[:i:i], e.calls.Parked[i+1:]...)
			r := refusal.ServerUnavailable(e.server.why, e.server.retry)
			if e.server.up {
				r = notReread()
			}
			e.refuseCall(c, r)
			return
		}
	}
}

// startParked starts what waited for the server.
func (e *Engine) startParked() {
	parked := e.calls.Parked
	e.calls.Parked = nil
	inTurn(e, parked, func(c *inflight.Call) {
		e.alarms.stop(c.Alarm)
		if c.Phase == inflight.Done {
			return
		}
		c.On(inflight.Resume)
		e.then(resumed{c})
	})
}
