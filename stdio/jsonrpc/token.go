package jsonrpc

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A scanner is one Scan under way. Its methods take the offset of what they
// read and return the offset after it, or -1 once they have failed. The error
// is kept on the keyring: a scanner that held it could not live on the stack.
type scanner struct {
	data   []byte
	rules  Rules
	slots  []Span
	keys   *keyring
	values int // so far, the outermost object left out
}

func (s *scanner) fail(r Reason, at int) int {
	s.keys.err = &Error{Reason: r, Offset: at}
	return -1
}

func (s *scanner) failKey(r Reason, at int, key []byte, beside string) int {
	s.keys.err = &Error{Reason: r, Offset: at, Key: cutKey(key), Beside: beside}
	return -1
}

// peek returns the byte at i, 0 at the end. A NUL in the text is an error
// wherever it is peeked at, as the end is.
func (s *scanner) peek(i int) byte {
	if i < len(s.data) {
		return s.data[i]
	}
	return 0
}

func (s *scanner) space(i int) int {
	for i < len(s.data) && isSpace(s.data[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t') }

// str reads the string whose opening quote stands at i.
func (s *scanner) str(i int) (end int, l traits) {
	for i = plain(s.data, i+1); ; {
		switch c := s.peek(i); {
		case c == '"':
			return i + 1, l
		case c == '\\':
			l |= escaped
			for i >= 0 && s.peek(i) == '\\' { // where there is one there are usually more
				i = s.escape(i)
			}
			if i >= 0 {
				i = afterEscape(s.data, i)
			}
		case c < ' ':
			return s.fail(Syntax, i), l
		default:
			l |= beyondASCII
			if i = s.runes(i); i >= 0 {
				i = plain(s.data, i)
			}
		}
		if i < 0 {
			return -1, l
		}
	}
}

// afterEscape is plain for what follows an escape.
func afterEscape(d []byte, i int) int {
	for end := min(i+shortRun, len(d)); i < end; i++ {
		if stops[d[i]] {
			return i
		}
	}
	return plain(d, i)
}

// stops marks the bytes at which plain stops.
var stops = func() (marks [256]bool) {
	for c := range marks {
		marks[c] = c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\'
	}
	return marks
}()

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain returns the offset of the first byte from i on that ends a run of
// printable ASCII in a string: quote, backslash, control or beyond ASCII. Most runs
// end within eight bytes.
func plain(d []byte, i int) int {
	if i+8 <= len(d) {
		if stop := stopsIn(d[i:]) & highs; stop != 0 {
			return i + bits.TrailingZeros64(stop)>>3
		}
		i += 8
	}
	return plainLong(d, i)
}

// plainLong is plain for runs that are longer. Most of what is read at all is read here, so
// it looks at 32 bytes at a time.
func plainLong(d []byte, i int) int {
	rest := d[i:]
	for len(rest) >= 32 && (stopsIn(rest)|stopsIn(rest[8:])|stopsIn(rest[16:])|stopsIn(rest[24:]))&highs == 0 {
		rest = rest[32:]
	}
	for len(rest) >= 8 {
		if stop := stopsIn(rest) & highs; stop != 0 {
			return len(d) - len(rest) + bits.TrailingZeros64(stop)>>3
		}
		rest = rest[8:]
	}
	for len(rest) > 0 && !stops[rest[0]] {
		rest = rest[1:]
	}
	return len(d) - len(rest)
}

// stopsIn marks, in the highest bit of each, which of the first eight bytes stop plain. The
// lowest mark is right: a byte that does not stop it is marked only where one below is.
func stopsIn(d []byte) uint64 {
	w := binary.LittleEndian.Uint64(d)
	quote, slash := w^('"'*ones), w^('\\'*ones)
	return w | (w - ' '*ones) | (quote - ones) | (slash - ones)
}

// runes reads characters beyond ASCII up to the next ASCII byte.
func (s *scanner) runes(i int) int {
	for i < len(s.data) && s.data[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(s.data[i:])
		if r == utf8.RuneError && n == 1 {
			return s.fail(InvalidUTF8, i)
		}
		i += n
	}
	return i
}

// escape reads one escape, or the two that make a surrogate pair.
func (s *scanner) escape(i int) int {
	c := s.peek(i + 1)
	if shortEscapes[c] {
		return i + 2
	}
	if c != 'u' {
		return s.fail(Syntax, i)
	}
	first := hex4(s.data, i+2)
	switch {
	case first < 0:
		return s.fail(Syntax, i)
	case first < 0xD800 || first > 0xDFFF:
		return i + 6
	case first > 0xDBFF || s.peek(i+6) != '\\' || s.peek(i+7) != 'u':
		return s.loneSurrogate(i)
	}
	switch second := hex4(s.data, i+8); {
	case second < 0:
		return s.fail(Syntax, i+6)
	case second < 0xDC00 || second > 0xDFFF:
		return s.loneSurrogate(i)
	}
	return i + 12
}

// shortEscapes marks the bytes that make an escape of two bytes with a backslash before them.
var shortEscapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// loneSurrogate takes the escape of a surrogate without its other half.
func (s *scanner) loneSurrogate(i int) int {
	if !s.rules.Halves {
		return s.fail(InvalidUTF8, i)
	}
	return i + 6
}

func (s *scanner) word(i int, w string) int {
	for j := range len(w) {
		if s.peek(i+j) != w[j] {
			return s.fail(Syntax, i)
		}
	}
	return i + len(w)
}

func (s *scanner) number(i int) int {
	if s.peek(i) == '-' {
		i++
	}
	if s.peek(i) == '0' {
		i++
	} else if i = s.digits(i); i < 0 {
		return -1
	}
	if s.peek(i) == '.' {
		if i = s.digits(i + 1); i < 0 {
			return -1
		}
	}
	if c := s.peek(i); c == 'e' || c == 'E' {
		if c = s.peek(i + 1); c == '+' || c == '-' {
			i++
		}
		return s.digits(i + 1)
	}
	return i
}

// digits reads one digit or more.
func (s *scanner) digits(i int) int {
	start := i
	for i < len(s.data) && '0' <= s.data[i] && s.data[i] <= '9' {
		i++
	}
	if i == start {
		return s.fail(Syntax, i)
	}
	return i
}
