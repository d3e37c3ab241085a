package engine

import (
	"bytes"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
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
func (e *Engine) remind(c *inflight.Call) {
	if c.Token == nil || c.Phase != inflight.Asked {
		return
	}
	e.report(c, "", `{"waiting":true}`)
	c.Alarm = e.alarms.set(e.now.Add(reminderEvery), func() { e.remind(c) })
}

// approvalMeta is where, in the _meta of progress, stands what only a bridge says: that
// people are deciding, or who has agreed. Words alone a server can use as well.
const approvalMeta = "mcpx/approval"

// report says something to a caller under its token; "": that people are deciding. about
// is that for programs.
func (e *Engine) report(c *inflight.Call, words, about string) {
	c.Reminders++
	progress, message := e.progressOf(c)
	if words != "" {
		message = words
	}
	params := append([]byte(`{"progressToken":`), c.Token...)
	params = append(append(append(params, `,"progress":`...), progress...), `,"message":`...)
	params = append(jsonrpc.AppendQuote(params, message), `,"_meta":{"`+approvalMeta+`":`+about+`}}`...)
	note := jsonrpc.AppendNotification(nil, "notifications/progress", params)
	if c.Origin == inflight.Host {
		e.do(TellHost{note})
	} else {
		e.tellOne(wire.Progress, c.From, "notifications/progress", note)
	}
}

// tellWho tells a caller that gave a token, or a proposer, who has agreed just now, and
// why (FINDINGS S9).
func (e *Engine) tellWho(c *inflight.Call) {
	s := c.Agreed
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
	case c.Origin == inflight.Proposal: // which has no place for a token
		e.tellOne(wire.Notice, c.From, Approved, jsonrpc.AppendNotification(nil, Approved, approved(c, words)))
	case c.Token != nil:
		about := jsonrpc.AppendQuote([]byte(`{"decision_id":`), s.ID)
		e.report(c, words, string(append(appendBy(about, s.By), '}')))
	}
}

// inItsOwnName is progress of the server's without anything that a reader could take for
// what only a bridge says: then no more of it than the protocol knows, nil if that is
// nothing. A server that has such things may well be a bridge to another topic.
func inItsOwnName(m *jsonrpc.Message) *jsonrpc.Message {
	if !speaksForUs(m.Raw) {
		return m
	}
	params := m.Get(jsonrpc.Params)
	shape := jsonrpc.Shape{{Name: "progressToken", Slot: 0}, {Name: "progress", Slot: 1}, {Name: "total", Slot: 2}, {Name: "message", Slot: 3}}
	var at [4]jsonrpc.Span
	if jsonrpc.Scan(params, jsonrpc.Passed, shape, at[:]) != nil || at[0].End == 0 {
		return nil
	}
	known := []byte{'{'}
	for i, f := range shape {
		if at[i].End == 0 {
			continue
		}
		if i > 0 {
			known = append(known, ',')
		}
		known = append(append(jsonrpc.AppendQuote(known, f.Name), ':'), params[at[i].Start:at[i].End]...)
	}
	own, err := jsonrpc.Parse(jsonrpc.AppendNotification(nil, "notifications/progress", append(known, '}')), jsonrpc.Passed)
	if err != nil {
		return nil
	}
	return &own
}

// speaksForUs looks for a text that is approvalMeta, however it is written.
func speaksForUs(raw []byte) bool {
	if !bytes.ContainsRune(raw, '\\') && !bytes.Contains(bytes.ToLower(raw), []byte(approvalMeta)) {
		return false
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return err != io.EOF
		}
		if t.Kind() == '"' && strings.EqualFold(t.String(), approvalMeta) {
			return true
		}
	}
}

func approved(c *inflight.Call, words string) []byte {
	params := jsonrpc.AppendQuote([]byte(`{"proposalId":`), c.Life.ID)
	params = jsonrpc.AppendQuote(append(params, `,"decision_id":`...), c.Agreed.ID)
	params = appendBy(params, c.Agreed.By)
	if c.Agreed.Said != "" {
		params = jsonrpc.AppendQuote(append(params, `,"reason":`...), c.Agreed.Said)
	}
	return append(jsonrpc.AppendQuote(append(params, `,"message":`...), words), '}')
}

// appendBy appends who decided.
func appendBy(dst []byte, by []approval.Who) []byte {
	for i, name := range names(by) {
		if i == 0 {
			dst = append(dst, `,"by":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendQuote(dst, name)
	}
	if len(by) > 0 {
		dst = append(dst, ']')
	}
	return dst
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
