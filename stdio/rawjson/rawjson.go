// Package rawjson looks into JSON that stays the bytes it is: what stands where, what a
// pointer leads to, one member put in, one spelling for all that says the same. Nothing is
// decoded but names, and nothing is written anew but what was asked for, so a text that
// people were shown, or that was judged, can be passed on as it came.
//
// There is one strict reader, [jsonrpc.Scan]. [Find] and [Text] go through it, so they take
// any bytes. All else trusts: [Parts], [At], [Put] and [AppendCanonical] take only what was
// scanned before, a whole text of which every byte was looked at. Given anything else they
// may panic or answer nonsense. Offsets count from the beginning of the text. What is
// returned refers to the text, unless it says that it is a copy, and is not to be changed.
//
// Pointers are those of RFC 6901, as [jsontext.Pointer] has them. Of two members of one
// name, which only the rules [jsonrpc.Passed] let through, the first is found.
package rawjson

import (
	"iter"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Space is the offset of the first byte from i on that is no white space.
func Space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// A Part is a member of an object or an element of an array: its value stands from Start
// up to End.
type Part struct {
	Name       string // of a member, decoded; of an element its index
	Start, End int
}

// Of is the value of the part of a text.
func (p Part) Of(text []byte) []byte { return text[p.Start:p.End:p.End] }

// Parts yields the parts of the object or array that opens at i, in their order; of any
// other value none. It goes through each value for its end: whoever walks a whole text by
// it goes through what is ten deep ten times.
func Parts(text []byte, i int) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		if !isContainer(text, i) {
			return
		}
		named, end := text[i] == '{', text[i]+2
		n := 0
		for i = Space(text, i+1); text[i] != end; n++ {
			p := Part{Start: i}
			if named {
				p.Name, p.Start = key(text, i)
			} else {
				p.Name = strconv.Itoa(n)
			}
			p.End = jsonrpc.ValueEnd(text, p.Start)
			if !yield(p) {
				return
			}
			i = next(text, p.End)
		}
	}
}

func isContainer(text []byte, i int) bool {
	return i < len(text) && (text[i] == '{' || text[i] == '[')
}

// key reads the key at i, and says where its value begins.
func key(text []byte, i int) (name string, value int) {
	end := jsonrpc.StringEnd(text, i)
	name, _ = jsonrpc.Unquote(text[i:end])
	return name, Space(text, Space(text, end)+1)
}

// next is where the next part begins, or the closing bracket is, after a value that ends at i.
func next(text []byte, i int) int {
	if i = Space(text, i); text[i] == ',' {
		i = Space(text, i+1)
	}
	return i
}

// find is the part of that name of what stands at i.
func find(text []byte, i int, name string) (Part, bool) {
	for p := range Parts(text, i) {
		if p.Name == name {
			return p, true
		}
	}
	return Part{}, false
}

// At is the value that a pointer leads to, nil if there is none.
func At(text []byte, pointer jsontext.Pointer) []byte {
	p, ok := Part{Start: Space(text, 0), End: len(text)}, true
	for name := range pointer.Tokens() {
		if p, ok = find(text, p.Start, name); !ok {
			return nil
		}
	}
	return p.Of(text)
}

// Put returns a copy of a text in which a pointer leads to value, every other byte being
// as it was. A member that was not there comes first. It reports false where there is no
// place for it: the parent is missing or holds no members, or the pointer is empty; an
// element of an array must be there already.
func Put(text []byte, pointer jsontext.Pointer, value []byte) ([]byte, bool) {
	if pointer == "" {
		return nil, false
	}
	at := Space(text, 0)
	for name := range pointer.Parent().Tokens() {
		p, ok := find(text, at, name)
		if !ok {
			return nil, false
		}
		at = p.Start
	}
	name := pointer.LastToken()
	if p, ok := find(text, at, name); ok {
		return slices.Concat(text[:p.Start], value, text[p.End:]), true
	}
	if text[at] != '{' {
		return nil, false
	}
	added := append(append(jsonrpc.AppendQuote(nil, name), ':'), value...)
	if text[Space(text, at+1)] != '}' {
		added = append(added, ',')
	}
	return slices.Concat(text[:at+1], added, text[at+1:]), true
}

// Find scans an object, which may be any bytes, under r, and returns the value that the
// names lead to through objects. It is nil where one of them is missing, and where r, or
// [jsonrpc.KeyCase] on the way, refuses the text.
func Find(raw []byte, r jsonrpc.Rules, names ...string) []byte {
	shape := jsonrpc.Shape{}
	for i, name := range slices.Backward(names) {
		m := jsonrpc.Member{Name: name, Slot: -1, Inside: shape}
		if i == len(names)-1 {
			m = jsonrpc.Member{Name: name}
		}
		shape = jsonrpc.Shape{m}
	}
	var at [1]jsonrpc.Span
	if len(raw) == 0 || jsonrpc.Scan(raw, r, shape, at[:]) != nil || at[0].End == 0 {
		return nil
	}
	return raw[at[0].Start:at[0].End:at[0].End]
}

// Text is [Find] for a string; ok is false where there is none.
func Text(raw []byte, r jsonrpc.Rules, names ...string) (text string, ok bool) {
	return jsonrpc.Unquote(Find(raw, r, names...))
}
