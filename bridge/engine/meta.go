package engine

import (
	"bytes"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

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
