package jsonrpc

import (
	"bytes"
	"iter"
)

// An Entry is one member of an object in a message.
type Entry struct {
	Field Field  // Fields if the member is none that has a name here
	Key   []byte // as written, with its quotes
	Value []byte
}

// Entries are the members of the object that a field is, in their order; none if it
// is absent or no object. They refer to Raw. Members that are fields themselves cost
// nothing but a look; values of others are gone through for their end.
func (m *Message) Entries(of Field) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		if m.first(of) != '{' {
			return
		}
		for i := m.space(m.at[of].Start + 1); m.Raw[i] != '}'; {
			e, end := m.entry(of, i)
			if !yield(e) {
				return
			}
			if i = m.space(end); m.Raw[i] == ',' {
				i = m.space(i + 1)
			}
		}
	}
}

// entry is the member whose key begins at i, and where it ends.
func (m *Message) entry(of Field, i int) (e Entry, end int) {
	for _, f := range inside(of) {
		if at := m.at[f]; at.End != 0 && at.Key == i {
			return Entry{f, m.Raw[i:m.stringEnd(i)], m.Raw[at.Start:at.End:at.End]}, at.End
		}
	}
	key := m.stringEnd(i)
	start := m.space(m.space(key) + 1)
	end = ValueEnd(m.Raw, start)
	return Entry{Fields, m.Raw[i:key], m.Raw[start:end:end]}, end
}

// stringEnd is the offset after the string that begins at i.
func (m *Message) stringEnd(i int) int { return StringEnd(m.Raw, i) }

// StringEnd is the offset after the string that begins at i in a text that was scanned.
func StringEnd(text []byte, i int) int {
	for from := i + 1; ; {
		quote := from + bytes.IndexByte(text[from:], '"')
		slashes := 0
		for text[quote-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		// Where one quote was escaped there are usually more: a look at each byte for
		// a while is quicker than many searches (FINDINGS M3).
		from = quote + 1
		for end := from + shortRun; from < end; {
			switch text[from] {
			case '"':
				return from + 1
			case '\\':
				from += 2
				end = from + shortRun
			default:
				from++
			}
		}
	}
}

// ValueEnd is the offset after the value that begins at i in a text that was scanned.
func ValueEnd(text []byte, i int) int {
	depth := 0
	for {
		switch c := text[i]; c {
		case '"':
			i = StringEnd(text, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		default:
			if depth > 0 {
				i++
				continue
			}
			for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && !isSpace(text[i]) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}
