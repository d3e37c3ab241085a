package meta

import (
	"bytes"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Put puts a member into the _meta of a result, in place of the server's if that has one of
// the name: there must not be two of them. payload is an answer that was scanned before, and
// is not changed; it is returned itself where it has no object to put the member in. value is
// raw JSON, and is copied.
func Put(payload []byte, name string, value []byte) []byte {
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

// ProvidesKey is the member of _meta in our answer to initialize that says what the
// server is for: a list of words. Every dialect carries that answer, and whoever
// does not know the key passes it over. No frame of presence has a place for it.
const ProvidesKey = "mcpx/provides"

// PutProvides says in an answer to initialize what the server is for, and changes
// nothing else of it. result is an object; it is returned itself without words, or if its
// _meta is none.
func PutProvides(result []byte, words []string) []byte {
	shape := jsonrpc.Shape{{Name: "_meta", Slot: 0}}
	var at [1]jsonrpc.Span
	if len(words) == 0 || jsonrpc.Scan(result, jsonrpc.Passed, shape, at[:]) != nil {
		return result
	}
	member := append(jsonrpc.AppendQuote(nil, ProvidesKey), ":["...)
	for i, word := range words {
		if i > 0 {
			member = append(member, ',')
		}
		member = jsonrpc.AppendQuote(member, word)
	}
	member = append(member, ']')
	switch whole := (jsonrpc.Span{Start: bytes.IndexByte(result, '{'), End: len(result)}); {
	case at[0].End == 0:
		return insertMembers(result, whole, append(append([]byte(`"_meta":{`), member...), '}'))
	case result[at[0].Start] == '{':
		return insertMembers(result, at[0], member)
	}
	return result
}
