package bridge

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// value builds what a schema validator wants to see from a JSON text that has
// been scanned strictly before: it does not check again. Numbers keep their
// text.
func value(text []byte) any {
	v, _ := valueAt(text, skipSpace(text, 0))
	return v
}

func valueAt(text []byte, i int) (v any, next int) {
	switch text[i] {
	case '{':
		return objectAt(text, i)
	case '[':
		return arrayAt(text, i)
	case '"':
		end := stringEnd(text, i)
		s, _ := jsonrpc.Unquote(text[i:end])
		return s, end
	case 't':
		return true, i + len("true")
	case 'f':
		return false, i + len("false")
	case 'n':
		return nil, i + len("null")
	}
	end := i
	for end < len(text) && !bytes.ContainsRune([]byte(" \t\r\n,]}"), rune(text[end])) {
		end++
	}
	return numeral(text[i:end]), end
}

// What a number may have at most to be looked into. The validator makes an
// exact fraction of each, which costs the more the larger it is, and of an
// exponent beyond a million it makes nothing and falls over.
const (
	maxDigits   = 1024
	maxExponent = 400
)

// A vastNumber is too large to be looked into. The validator takes it for
// something that is no JSON, so it fits no schema that says anything about it.
type vastNumber string

func numeral(text []byte) any {
	exponent := 0
	if e := bytes.IndexAny(text, "eE"); e >= 0 {
		n, err := strconv.Atoi(string(text[e+1:]))
		if err != nil {
			return vastNumber(text)
		}
		exponent = n
	}
	if len(text) > maxDigits || exponent < -maxExponent || exponent > maxExponent {
		return vastNumber(text)
	}
	return json.Number(text)
}

func objectAt(text []byte, i int) (map[string]any, int) {
	o := map[string]any{}
	for i = skipSpace(text, i+1); text[i] != '}'; i = skipSpace(text, i) {
		if text[i] == ',' {
			i = skipSpace(text, i+1)
		}
		end := stringEnd(text, i)
		key, _ := jsonrpc.Unquote(text[i:end])
		colon := skipSpace(text, end)
		o[key], i = valueAt(text, skipSpace(text, colon+1))
	}
	return o, i + 1
}

func arrayAt(text []byte, i int) ([]any, int) {
	a := []any{}
	for i = skipSpace(text, i+1); text[i] != ']'; i = skipSpace(text, i) {
		if text[i] == ',' {
			i = skipSpace(text, i+1)
		}
		var v any
		v, i = valueAt(text, i)
		a = append(a, v)
	}
	return a, i + 1
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// stringEnd is the offset after the string that begins at i.
func stringEnd(text []byte, i int) int {
	for from := i + 1; ; {
		quote := from + bytes.IndexByte(text[from:], '"')
		slashes := 0
		for text[quote-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		from = quote + 1
	}
}
