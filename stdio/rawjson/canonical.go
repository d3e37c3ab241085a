package rawjson

import (
	"cmp"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// AppendCanonical appends a value in the one spelling that all texts with the same meaning
// share: no white space, members sorted by the bytes of their names, strings and names as
// quote appends them. Numbers keep their text. It is read once, however deep it is.
//
// It is not [jsontext.Value.Format] with ReorderRawObjects, as digests and stored answers
// are made of it: that writes \b and \f where [jsonrpc.AppendQuote] has \u0008 and \u000c,
// sorts names beyond the Basic Multilingual Plane otherwise, and quotes in one way only.
// FuzzCanonical holds the two to each other in all else.
func AppendCanonical(dst, text []byte, quote func(dst []byte, s string) []byte) []byte {
	dst, _ = spelling{quote, true}.value(dst, text, Space(text, 0))
	return dst
}

// AppendRespelled is [AppendCanonical] with members in the order in which they came.
func AppendRespelled(dst, text []byte, quote func(dst []byte, s string) []byte) []byte {
	dst, _ = spelling{quote, false}.value(dst, text, Space(text, 0))
	return dst
}

// A spelling is how strings are quoted, and whether members are sorted.
type spelling struct {
	quote func([]byte, string) []byte
	sorts bool
}

func (s spelling) value(dst, t []byte, i int) (with []byte, end int) {
	switch {
	case isContainer(t, i):
		return s.parts(dst, t, i)
	case t[i] == '"':
		end = jsonrpc.StringEnd(t, i)
		text, _ := jsonrpc.Unquote(t[i:end])
		return s.quote(dst, text), end
	}
	end = jsonrpc.ValueEnd(t, i)
	return append(dst, t[i:end]...), end
}

// A piece is a member as it was appended, with a comma before it.
type piece struct {
	name       string
	start, end int
}

func (s spelling) parts(dst, t []byte, i int) (with []byte, end int) {
	open, shut, base := t[i], t[i]+2, len(dst)
	var members []piece
	for i = Space(t, i+1); t[i] != shut; i = next(t, i) {
		p := piece{start: len(dst)}
		dst = append(dst, ',')
		if open == '{' {
			p.name, i = key(t, i)
			dst = append(s.quote(dst, p.name), ':')
		}
		dst, i = s.value(dst, t, i)
		if p.end = len(dst); open == '{' && s.sorts {
			members = append(members, p)
		}
	}
	if len(dst) == base {
		return append(dst, open, shut), i + 1
	}
	sortPieces(dst, base, members)
	dst[base] = open
	return append(dst, shut), i + 1
}

// sortPieces puts the pieces that fill dst from base on into order.
func sortPieces(dst []byte, base int, pieces []piece) {
	byName := func(a, b piece) int { return cmp.Compare(a.name, b.name) }
	if slices.IsSortedFunc(pieces, byName) {
		return
	}
	was, from := slices.Clone(dst[base:]), base
	slices.SortStableFunc(pieces, byName)
	for _, p := range pieces {
		base += copy(dst[base:], was[p.start-from:p.end-from])
	}
}
