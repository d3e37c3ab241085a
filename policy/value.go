package policy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Arguments are taken apart within these bounds; what is beyond them cannot be
// judged by its arguments.
const (
	maxDepth  = 64     // DESIGN 4
	maxValues = 50_000 // so that 16 MiB of {} take neither a gigabyte nor long
)

// kind is a JSON type.
type kind uint8

const (
	isNull kind = iota
	isBoolean
	isNumber
	isString
	isArray
	isObject
)

// String is the word a file uses for k.
func (k kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// A value is one JSON value. A number keeps its text, so nothing is rounded.
type value struct {
	kind       kind
	text       string   // a string decoded; a number, true, false, null as spelled
	keys       []string // of an object, decoded, beside items
	items      []value  // of an array or an object
	start, end int      // the bytes it was read from
}

var (
	errNoObject = errors.New("the arguments are no JSON object")
	noArguments = &value{kind: isObject}
)

// readObject reads one JSON object strictly: no keys that are one, be it to a
// lenient reader only, no bad UTF-8,
// no lone surrogates, nothing behind it. Nothing at all stands for {}.
func readObject(raw []byte) (*value, error) {
	if len(raw) == 0 {
		return noArguments, nil
	}
	s := scanner{raw: raw}
	return s.object()
}

// readShape reads an object as readObject does, but leaves strings empty that are
// no keys, and takes keys for one only if they are equal: it is for what is shown.
func readShape(raw []byte) (*value, error) {
	s := scanner{raw: raw, mute: true}
	return s.object()
}

type scanner struct {
	raw   []byte
	mute  bool // strings are left empty, but for keys
	at    int
	count int // values so far
}

// object reads all there is.
func (s *scanner) object() (*value, error) {
	if !utf8.Valid(s.raw) {
		return nil, errors.New("the arguments are not UTF-8")
	}
	v, err := s.value(0)
	if err != nil {
		return nil, err
	}
	if s.skip(); s.at < len(s.raw) {
		return nil, s.wrong("something follows the value")
	}
	if v.kind != isObject {
		return nil, errNoObject
	}
	return &v, nil
}

func (s *scanner) wrong(what string) error {
	return fmt.Errorf("the arguments are no JSON: %s at byte %d", what, s.at)
}

func (s *scanner) skip() {
	for s.at < len(s.raw) && (s.raw[s.at] == ' ' || s.raw[s.at] == '\t' || s.raw[s.at] == '\r' || s.raw[s.at] == '\n') {
		s.at++
	}
}

// next is the byte at hand, 0 at the end. A real NUL fits nowhere either.
func (s *scanner) next() byte {
	if s.at < len(s.raw) {
		return s.raw[s.at]
	}
	return 0
}

func (s *scanner) value(depth int) (v value, err error) {
	s.skip()
	v.start = s.at
	s.count++
	switch c := s.next(); {
	case s.count > maxValues:
		return v, errTooMuch
	case depth > maxDepth:
		return v, s.wrong("too deep")
	case c == '{':
		v.kind = isObject
		seen := keyset{exact: s.mute}
		err = s.list('}', func() error { return s.member(&v, &seen, depth) })
	case c == '[':
		v.kind = isArray
		err = s.list(']', func() error { return s.element(&v, depth) })
	case c == '"':
		v.kind = isString
		v.text, err = s.string(s.mute)
	case c == '-' || '0' <= c && c <= '9':
		v.kind = isNumber
		v.text, err = s.number()
	default:
		v.kind, v.text, err = s.word()
	}
	v.end = s.at
	return v, err
}

func (s *scanner) list(end byte, each func() error) error {
	s.at++
	if s.skip(); s.next() == end {
		s.at++
		return nil
	}
	for {
		if err := each(); err != nil {
			return err
		}
		s.skip()
		switch s.next() {
		case ',':
			s.at++
		case end:
			s.at++
			return nil
		default:
			return s.wrong("a comma or an end is missing")
		}
	}
}

func (s *scanner) element(v *value, depth int) error {
	item, err := s.value(depth + 1)
	v.items = append(v.items, item)
	return err
}

func (s *scanner) member(v *value, seen *keyset, depth int) error {
	if s.skip(); s.next() != '"' {
		return s.wrong("a key is missing")
	}
	key, err := s.string(false)
	if err != nil {
		return err
	}
	if twin, again := seen.again(key); again && twin == key {
		return s.wrong(fmt.Sprintf("the key %.40q stands twice", key))
	} else if again {
		return fmt.Errorf("the arguments hold two keys that many servers take for one: %s and %s", visible(twin), visible(key))
	}
	if s.skip(); s.next() != ':' {
		return s.wrong("a colon is missing")
	}
	s.at++
	v.keys = append(v.keys, key)
	return s.element(v, depth)
}

func (s *scanner) word() (kind, string, error) {
	for _, w := range jsonWords {
		if bytes.HasPrefix(s.raw[s.at:], []byte(w.text)) {
			s.at += len(w.text)
			return w.kind, w.text, nil
		}
	}
	return isNull, "", s.wrong("no value begins")
}

var jsonWords = []value{{kind: isBoolean, text: "true"}, {kind: isBoolean, text: "false"}, {kind: isNull, text: "null"}}

func (s *scanner) number() (string, error) {
	from := s.at
	for s.at < len(s.raw) && numberByte[s.raw[s.at]] {
		s.at++
	}
	if !isNumeral(s.raw[from:s.at]) {
		return "", s.wrong(fmt.Sprintf("%.40q is no number, which ends", s.raw[from:s.at]))
	}
	return string(s.raw[from:s.at]), nil
}

// numberByte marks what numbers are made of.
var numberByte = func() (marks [256]bool) {
	for _, c := range []byte("+-.0123456789eE") {
		marks[c] = true
	}
	return marks
}()

// string reads a string, mute without what it says, and leaves the scanner behind
// its closing quote.
func (s *scanner) string(mute bool) (string, error) {
	s.at++
	from := s.at
	s.plain()
	if s.next() == '"' {
		s.at++
		if mute {
			return "", nil
		}
		return string(s.raw[from : s.at-1]), nil
	}
	return s.decoded(from, mute)
}

// decoded goes on with a string that has an escape in it, or is none.
func (s *scanner) decoded(from int, mute bool) (string, error) {
	var b strings.Builder
	for {
		if !mute {
			b.Write(s.raw[from:s.at])
		}
		for s.next() == '\\' {
			r, err := s.escape()
			if err != nil {
				return "", err
			}
			switch {
			case mute:
			case r < utf8.RuneSelf:
				b.WriteByte(byte(r))
			default:
				b.WriteRune(r)
			}
		}
		from = s.at
		if s.next() == '"' {
			s.at++
			return b.String(), nil
		}
		if s.short(); s.at-from == shortRun {
			s.plain()
		}
		if s.at == from {
			return "", s.wrong("a string has no end or a bare control character")
		}
	}
}

// plain goes to what stands for something else than itself, or for nothing, in
// a string: a quote, a backslash or a control character. It looks at eight bytes
// at a time, as stdio/jsonrpc does, which this package may not import: long strings
// are what most of large arguments are. Each term of stop has the high bit of the
// bytes it looks for. A borrow can mark a byte above a true one only, so the lowest
// mark is right. Bytes beyond ASCII pass.
func (s *scanner) plain() {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; s.at+8 <= len(s.raw); s.at += 8 {
		w := binary.LittleEndian.Uint64(s.raw[s.at:])
		quote, slash := w^('"'*ones), w^('\\'*ones)
		if stop := ((w-' '*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs; stop != 0 {
			s.at += bits.TrailingZeros64(stop) >> 3
			return
		}
	}
	for s.at < len(s.raw) && s.raw[s.at] != '"' && s.raw[s.at] != '\\' && s.raw[s.at] >= ' ' {
		s.at++
	}
}

// short is plain for at most shortRun bytes. Where there was one escape there are more,
// as a rule, and plain takes as long for two bytes as for thirty.
func (s *scanner) short() {
	for end := min(s.at+shortRun, len(s.raw)); s.at < end && !stops[s.raw[s.at]]; s.at++ {
	}
}

const shortRun = 16

// stops marks the bytes at which plain stops.
var stops = func() (marks [256]bool) {
	for c := range ' ' {
		marks[c] = true
	}
	marks['"'], marks['\\'] = true, true
	return marks
}()

func (s *scanner) escape() (rune, error) {
	s.at++
	r := escaped[s.next()]
	switch {
	case r != 0:
		s.at++
		return r, nil
	case s.next() == 'u':
		return s.unicode()
	}
	return 0, s.wrong("no such escape")
}

// escaped is what a byte behind a backslash stands for, 0 for nothing.
var escaped = [256]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (s *scanner) unicode() (rune, error) {
	r, ok := s.hex4()
	if ok && utf16.IsSurrogate(r) {
		var low rune
		ok = s.next() == '\\'
		s.at++
		if ok {
			low, ok = s.hex4()
		}
		r = utf16.DecodeRune(r, low)
		ok = ok && r != utf8.RuneError
	}
	if !ok {
		return 0, s.wrong("a broken \\u escape")
	}
	return r, nil
}

// hex4 reads uXXXX.
func (s *scanner) hex4() (r rune, ok bool) {
	if s.at+5 > len(s.raw) || s.raw[s.at] != 'u' {
		return 0, false
	}
	for _, c := range s.raw[s.at+1 : s.at+5] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	s.at += 5
	return r, true
}

// member is the value under key, nil if there is none.
func (v *value) member(key string) *value {
	if i := slices.Index(v.keys, key); i >= 0 {
		return &v.items[i]
	}
	return nil
}
