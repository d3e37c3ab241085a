package wire

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// member appends a member that is a string, unless it is empty.
func member(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return jsonrpc.AppendQuote(append(dst, name...), value)
}

func list(dst []byte, values []string) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendQuote(dst, v)
	}
	return append(dst, ']')
}

// object is an object of strings, less those that are empty.
func object(pairs ...string) []byte {
	dst := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(jsonrpc.AppendQuote(dst, pairs[i]), ':')
		dst = jsonrpc.AppendQuote(dst, pairs[i+1])
	}
	return append(dst, '}')
}

// appendQuoted is [jsonrpc.AppendQuote] without a copy for plain ASCII.
func appendQuoted(dst, s []byte) []byte {
	special := func(c byte) bool { return c < ' ' || c >= 0x7f || c == '"' || c == '\\' }
	if slices.ContainsFunc(s, special) {
		return jsonrpc.AppendQuote(dst, string(s))
	}
	return append(append(append(dst, '"'), s...), '"')
}
