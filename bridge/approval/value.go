package approval

import (
	"cmp"
	"iter"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// The functions of this file read JSON that has been scanned strictly before;
// they do not check it again.

// A member is one member of an object: where it stands in the text.
type member struct {
	name       string
	start, end int // of the value
}

// members yields the members of the object that opens at i.
func members(t []byte, i int) iter.Seq[member] {
	return func(yield func(member) bool) {
		for i = space(t, i+1); t[i] != '}'; i = space(t, i) {
			if t[i] == ',' {
				i = space(t, i+1)
			}
			end := stringEnd(t, i)
			name, _ := jsonrpc.Unquote(t[i:end])
			start := space(t, space(t, end)+1)
			i = skip(t, start)
			if !yield(member{name, start, i}) {
				return
			}
		}
	}
}

// elements yields the elements of the array that opens at i; they have no name.
func elements(t []byte, i int) iter.Seq[member] {
	return func(yield func(member) bool) {
		for i = space(t, i+1); t[i] != ']'; i = space(t, i) {
			if t[i] == ',' {
				i = space(t, i+1)
			}
			start := i
			if i = skip(t, start); !yield(member{"", start, i}) {
				return
			}
		}
	}
}

func space(t []byte, i int) int {
	for i < len(t) && (t[i] == ' ' || t[i] == '\n' || t[i] == '\r' || t[i] == '\t') {
		i++
	}
	return i
}

// skip returns the offset after the value at i.
func skip(t []byte, i int) int {
	for depth := 0; ; {
		switch t[i] {
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case '"':
			i = stringEnd(t, i)
		case ',', ':', ' ', '\n', '\r', '\t':
			i++
			continue
		default:
			i = wordEnd(t, i)
		}
		if depth == 0 {
			return i
		}
	}
}

// stringEnd returns the offset after the string at i.
func stringEnd(t []byte, i int) int {
	for i++; t[i] != '"'; i++ {
		if t[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// wordEnd returns the offset after the number, true, false or null at i.
func wordEnd(t []byte, i int) int {
	for i < len(t) {
		switch t[i] {
		case ',', ']', '}', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

// A quoter appends a string as JSON.
type quoter func(dst []byte, s string) []byte

// Canonical returns arguments in one spelling, so that two are equal if and only
// if they say the same; numbers count as text. args must have been scanned
// strictly before; nothing stands for {}.
func Canonical(args []byte) []byte {
	if len(args) == 0 {
		return []byte("{}")
	}
	return canonical(args, jsonrpc.AppendQuote)
}

// canonical returns the value t in the one spelling that all texts with the
// same meaning share: no white space, members sorted by the bytes of their
// names, strings quoted in one way. Numbers keep their text.
func canonical(t []byte, quote quoter) []byte {
	dst, _ := appendCanonical(nil, t, space(t, 0), quote)
	return dst
}

func appendCanonical(dst, t []byte, i int, quote quoter) ([]byte, int) {
	switch t[i] {
	case '{':
		return appendObject(dst, t, i, quote)
	case '[':
		return appendArray(dst, t, i, quote)
	case '"':
		end := stringEnd(t, i)
		s, _ := jsonrpc.Unquote(t[i:end])
		return quote(dst, s), end
	}
	end := wordEnd(t, i)
	return append(dst, t[i:end]...), end
}

func appendArray(dst, t []byte, i int, quote quoter) ([]byte, int) {
	dst = append(dst, '[')
	for i = space(t, i+1); t[i] != ']'; i = space(t, i) {
		if t[i] == ',' {
			dst = append(dst, ',')
			i = space(t, i+1)
		}
		dst, i = appendCanonical(dst, t, i, quote)
	}
	return append(dst, ']'), i + 1
}

// A piece is a member as it was appended, with a comma before it.
type piece struct {
	name       string
	start, end int
}

func appendObject(dst, t []byte, i int, quote quoter) ([]byte, int) {
	base := len(dst)
	var pieces []piece
	for i = space(t, i+1); t[i] != '}'; i = space(t, i) {
		if t[i] == ',' {
			i = space(t, i+1)
		}
		p := piece{start: len(dst)}
		end := stringEnd(t, i)
		p.name, _ = jsonrpc.Unquote(t[i:end])
		dst = append(quote(append(dst, ','), p.name), ':')
		dst, i = appendCanonical(dst, t, space(t, space(t, end)+1), quote)
		p.end = len(dst)
		pieces = append(pieces, p)
	}
	if len(pieces) == 0 {
		return append(dst, "{}"...), i + 1
	}
	sortPieces(dst, base, pieces)
	dst[base] = '{'
	return append(dst, '}'), i + 1
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
