package approval

import (
	"bytes"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// timeoutArg stands for the server's time for the call, where an edit would
// otherwise name an argument (WIRE 7.5).
const timeoutArg = "@timeout"

// maxEdited is how long a string may be that somebody puts into a field.
const maxEdited = 64 << 10

// same reports whether two primitives are one value, however they are spelled.
func same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if s, ok := jsonrpc.Unquote(a); ok {
		t, ok := jsonrpc.Unquote(b)
		return ok && s == t
	}
	m, ok := number(a)
	if !ok {
		return false
	}
	n, ok := number(b)
	return ok && m.Cmp(n) == 0
}

// number is the exact value of a JSON number of reasonable length and size.
func number(raw []byte) (*big.Rat, bool) {
	text := string(raw)
	if len(raw) == 0 || len(raw) > policy.MaxField || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return nil, false
	}
	if _, exponent, found := strings.Cut(strings.ToLower(text), "e"); found {
		if n, err := strconv.Atoi(exponent); err != nil || n < -400 || n > 400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// unfit says why a field does not take a value, "" if it does (WIRE 7.5).
func unfit(e *policy.Edit, raw []byte) string {
	switch e.Type {
	case "string":
		return unfitString(e, raw)
	case "number", "integer":
		return unfitNumber(e, raw)
	case "boolean":
		if s := string(raw); s != "true" && s != "false" {
			return "must be true or false"
		}
	default:
		return "is of no type that can be edited"
	}
	return notAmong(e, raw)
}

func unfitString(e *policy.Edit, raw []byte) string {
	s, ok := jsonrpc.Unquote(raw)
	if !ok {
		return "must be a string"
	}
	if len(s) > maxEdited {
		return "is too long"
	}
	n := new(big.Rat).SetInt64(int64(utf8.RuneCountInString(s)))
	if low, ok := number([]byte(e.Min)); ok && n.Cmp(low) < 0 {
		return "must have at least " + e.Min + " characters"
	}
	if high, ok := number([]byte(e.Max)); ok && n.Cmp(high) > 0 {
		return "must have at most " + e.Max + " characters"
	}
	if e.Under != "" && (policy.Folder(s) != "" || !policy.Within(e.Under, s)) {
		return "must be the folder that stands there or one in it, without . and .." // which may be hidden from who answers
	}
	return notAmong(e, raw)
}

func unfitNumber(e *policy.Edit, raw []byte) string {
	n, ok := number(raw)
	if !ok {
		return "must be a number"
	}
	if e.Type == "integer" && !n.IsInt() {
		return "must be a whole number"
	}
	if low, ok := number([]byte(e.Min)); ok && n.Cmp(low) < 0 {
		return "must be at least " + e.Min
	}
	if high, ok := number([]byte(e.Max)); ok && n.Cmp(high) > 0 {
		return "must be at most " + e.Max
	}
	return notAmong(e, raw)
}

func notAmong(e *policy.Edit, raw []byte) string {
	if len(e.Enum) > 0 && !slices.ContainsFunc(e.Enum, func(one string) bool { return same([]byte(one), raw) }) {
		return "is none of the values offered"
	}
	return ""
}
