package engine

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// ProvidesKey is the member of _meta in our answer to initialize that says what the
// server is for: a list of words. Every dialect carries that answer, and whoever
// does not know the key passes it over. No frame of presence has a place for it.
const ProvidesKey = "mcpx/provides"

// withProvides says in an answer to initialize what the server is for, and changes
// nothing else of it.
func withProvides(result []byte, words []string) []byte {
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
	into := catalog.SkipSpace(result, 0)
	if at[0].End > 0 {
		if into = at[0].Start; result[into] != '{' {
			return result
		}
	} else {
		member = append(append([]byte(`"_meta":{`), member...), '}')
	}
	if rest := catalog.SkipSpace(result, into+1); result[rest] != '}' {
		member = append(member, ',')
	}
	out := append([]byte(nil), result[:into+1]...)
	return append(append(out, member...), result[into+1:]...)
}
