package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

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
	e.ask("tools/list", params, func(m *jsonrpc.Message) {
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
	c.ChangedSince(e.server.tools)
	e.server.tools, e.server.up, e.server.changed = c, true, false
	if first {
		e.note(record.Record{Event: record.ServerUp, Tools: len(c.Tools), PID: e.server.hello.PID})
		e.do(Serving{Tools: len(c.Tools), PID: e.server.hello.PID})
	}
	if others {
		e.doubt()
	}
	if news { // not each time that we look
		e.tell("notifications/tools/list_changed", []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	}
	if e.server.listAgain {
		e.server.listAgain = false
		e.listTools()
	}
	e.toolsChanged()
	if first {
		e.listen()
		e.startParked()
		e.noLongerEarly()
	} else {
		e.startReread(err != nil)
	}
	e.rereadLater()
}

// pinned holds a call against the definition that its tool had at first
// (DESIGN 6, server.pin): a server may change a tool after it was allowed.
func (e *Engine) pinned(c *inflight.Call) {
	t := e.server.tools.Tools[c.Tool()]
	if c.Tool() == "" || t == nil || t.First == t.Print {
		return
	}
	e.note(record.Record{Event: record.Security, Call: c.Name, Tool: c.Tool(), Reason: "tool_changed"})
	c.Decision = e.policy.Pinned(c.Decision)
}

func (e *Engine) relist() {
	if e.server.up {
		e.listTools()
	}
}
