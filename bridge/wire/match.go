package wire

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// coversKind reports whether a pattern covers a kind. Both are compared part by
// part: what stands before the first colon, METHOD, and CONTEXT, which may hold
// colons of its own. A star does not leave its part, or mcp/request:*/list
// would cover a call of a tool named x/list; only one at the very end does.
func coversKind(pattern, kind string) bool {
	open := strings.HasSuffix(pattern, "*")
	for part := 1; ; part++ {
		p, morePattern, pMore := cutPart(pattern, part)
		k, moreKind, kMore := cutPart(kind, part)
		if !glob(p, k) || pMore && !kMore {
			return false
		}
		if !pMore {
			return !kMore || open || part == 2
		}
		pattern, kind = morePattern, moreKind
	}
}

func cutPart(s string, part int) (before, after string, more bool) {
	if part == 3 {
		return s, "", false
	}
	return strings.Cut(s, ":")
}

// glob reports whether s is pattern with each star standing for any text.
func glob(pattern, s string) bool {
	p, i := 0, 0
	star, mark := -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0: // let the last star have one more
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// exact are the rules for what is held against a pattern: a name that stands twice could
// be read in either way, so it fits none.
var exact = jsonrpc.Rules{Depth: jsonrpc.MaxServerDepth + 1, Size: jsonrpc.MaxSize, EveryLevel: true}

// fits reports whether a payload has everything a pattern names. Strings of the
// pattern are literal, end in a star, or begin with ! for what must not be so;
// objects are patterns again; numbers, true, false and null must stand the same
// (WIRE 5.6). Lists and all else are not understood and fit nothing.
func fits(pattern jsontext.Value, payload []byte) bool {
	return (pattern.Kind() != '{' || jsonrpc.Scan(payload, exact, nil, nil) == nil) && fitsValue(pattern, payload)
}

// fitsValue is fits for a value in which no name stands twice.
func fitsValue(pattern jsontext.Value, value []byte) bool {
	switch pattern.Kind() {
	case '{':
		return fitsObject(pattern, value)
	case '"':
		want, _ := jsonrpc.Unquote(pattern)
		got, ok := jsonrpc.Unquote(value)
		return ok && fitsText(want, got)
	case 't', 'f', 'n', '0':
		return bytes.Equal(bytes.TrimSpace(pattern), value)
	}
	return false
}

func fitsText(want, got string) bool {
	if not, ok := strings.CutPrefix(want, "!"); ok {
		return not != "" && !fitsText(not, got) && !strings.HasPrefix(not, "!")
	}
	if prefix, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(got, prefix)
	}
	return got == want
}

// fitsObject reads the pattern member by member and looks each up in value.
func fitsObject(pattern jsontext.Value, value []byte) bool {
	for want := range rawjson.Parts(pattern, rawjson.Space(pattern, 0)) {
		got := rawjson.At(value, jsontext.Pointer("").AppendToken(want.Name))
		if got == nil || !fitsValue(want.Of(pattern), got) {
			return false
		}
	}
	return len(value) > 0 && value[0] == '{'
}

// gatewayOnly reports whether only the gateway may send a kind, known or not.
func gatewayOnly(kind string) bool {
	return kind == "presence" || kind == "system" || strings.HasPrefix(kind, "system/") || strings.HasPrefix(kind, "system.")
}
