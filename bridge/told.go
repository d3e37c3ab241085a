package bridge

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// What a caller hears while people decide, and of their yes. The answer is the server's
// and says nothing of it, and no envelope has a place for it; so it goes before the
// answer, in frames that stock clients do not take for one (WIRE W-5).

// Approved is the notification that tells a proposer who agreed to its proposal, and
// why; the caller of a tool hears that as progress, if it gave a token. Its params:
// proposalId, decision_id, by (a list), reason if there is one, and message, which says
// it in a sentence.
const Approved = "notifications/mcpx/approved"

// remind tells a caller that gave a progress token that people are deciding.
func (e *Engine) remind(c *call) {
	if c.token == nil || e.calls.asked[c.question] != c {
		return
	}
	e.report(c, "")
	c.alarm = e.alarms.set(e.now.Add(reminderEvery), func() { e.remind(c) })
}

// report says something to a caller under its token; "": that people are deciding.
func (e *Engine) report(c *call, words string) {
	c.reminders++
	progress, message := e.progressOf(c)
	if words != "" {
		message = words
	}
	params := append([]byte(`{"progressToken":`), c.token...)
	params = append(append(append(params, `,"progress":`...), progress...), `,"message":`...)
	params = append(jsonrpc.AppendQuote(params, message), '}')
	note := jsonrpc.AppendNotification(nil, "notifications/progress", params)
	if c.host {
		e.do(TellHost{note})
	} else {
		e.tellOne(wire.Progress, c.from, "notifications/progress", note)
	}
}

// tellWho tells a caller that gave a token, or a proposer, who has agreed just now, and
// why (FINDINGS S9).
func (e *Engine) tellWho(c *call) {
	s := c.agreed
	if s.Used != nil {
		return // they agreed some time ago
	}
	var who []string
	for _, w := range s.By {
		who = append(who, person(w))
	}
	words := "allowed by " + strings.Join(who, " and ")
	if s.Said != "" {
		words += ": " + s.Said
	}
	switch {
	case c.ours: // which has no place for a token
		e.tellOne(wire.Notice, c.from, Approved, jsonrpc.AppendNotification(nil, Approved, c.approved(words)))
	case c.token != nil:
		e.report(c, words)
	}
}

func (c *call) approved(words string) []byte {
	params := jsonrpc.AppendQuote([]byte(`{"proposalId":`), c.life.ID)
	params = jsonrpc.AppendQuote(append(params, `,"decision_id":`...), c.agreed.ID)
	params = appendList(params, `,"by":`, names(c.agreed.By))
	if c.agreed.Said != "" {
		params = jsonrpc.AppendQuote(append(params, `,"reason":`...), c.agreed.Said)
	}
	return append(jsonrpc.AppendQuote(append(params, `,"message":`...), words), '}')
}

// person is somebody who decided, in words for a caller.
func person(w approval.Who) string {
	switch w.Door {
	case approval.Local:
		return "the person at the bridge"
	case approval.Host:
		return "the person at the client"
	}
	return w.ID
}
