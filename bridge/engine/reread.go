package engine

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

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

// listens is how we hear from a server of 2026-07-28 that its lists have changed.
type listens struct {
	call  *inflight.Call // our subscriptions/listen, which is open as long as we do; nil: we do not
	heard bool           // the server agreed to tell of tools
	tried bool           // it was asked, and has ended it: once is enough for one process
	ttl   time.Duration  // what it said of the list of tools; negative: nothing
	again *alarm         // when the tools are read again
}

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
	s.listens.call = e.asks("subscriptions/listen", []byte(`{"notifications":`+filter.String()+`}}`), func(*jsonrpc.Message) {
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
		e.tellServer(jsonrpc.AppendCancel(nil, e.calls.ID(c), "the bridge stops"))
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
	for _, c := range parked {
		switch {
		case c.Reread == 0 || c.Reread > e.server.read:
			e.calls.Parked = append(e.calls.Parked, c)
			continue
		case c.Phase == inflight.Done:
			e.ledger.GiveBack(c.Hold)
		case unread && e.auditDown: // our question did not even leave
			e.unstarted(c, refusal.AuditUnavailable())
		case unread:
			e.unstarted(c, notReread())
		default:
			e.alarms.stop(c.Alarm)
			c.On(inflight.Resume)
			e.agreed(c)
			continue
		}
		e.alarms.stop(c.Alarm)
	}
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

// announces reports whether the server said that it tells of changes of a list.
func (h *Hello) announces(name string) bool {
	shape := jsonrpc.Shape{{Name: name, Slot: -1, Inside: jsonrpc.Shape{{Name: "listChanged", Slot: 0}}}}
	var at [1]jsonrpc.Span
	return len(h.Capabilities) > 0 && jsonrpc.Scan(h.Capabilities, jsonrpc.Passed, shape, at[:]) == nil &&
		bytes.Equal(h.Capabilities[at[0].Start:at[0].End], []byte("true"))
}
