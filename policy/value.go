package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
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
	case c == '"' && !s.mute:
		v.kind = isString
		v.text, err = s.string()
	default:
		v.kind, v.text, err = s.scalar(c)
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
	s.skip()
	key, err := s.string()
	if err != nil {
		return err
	}
	if twin, again := seen.addOrTwin(key); again && twin == key {
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

func (s *scanner) string() (string, error) {
	text, end, ok := jsonrpc.String(s.raw, s.at)
	if !ok {
		return "", s.wrong("no string begins, or one that has no end or that no reader takes as it is")
	}
	s.at = end
	return text, nil
}

// scalar reads what holds nothing and begins with c; of a string it leaves the text empty.
func (s *scanner) scalar(c byte) (kind, string, error) {
	end := jsonrpc.Scalar(s.raw, s.at)
	if end < 0 {
		return isNull, "", s.wrong("no value begins, or one that is none")
	}
	raw := s.raw[s.at:end]
	s.at = end
	switch c {
	case '"':
		return isString, "", nil
	case 't':
		return isBoolean, "true", nil
	case 'f':
		return isBoolean, "false", nil
	case 'n':
		return isNull, "null", nil
	}
	return isNumber, string(raw), nil
}

// member is the value under key, nil if there is none.
func (v *value) member(key string) *value {
	if i := slices.Index(v.keys, key); i >= 0 {
		return &v.items[i]
	}
	return nil
}

// put makes room for what is not known, and reports whether there is any.
func (v *value) put(steps []string, o Open) bool {
	if v.kind != isObject || len(steps) == 0 {
		return false
	}
	member := v.member(steps[0])
	switch {
	case len(steps) == 1 && member != nil:
		return false
	case member == nil:
		v.keys, v.items = append(slices.Clip(v.keys), steps[0]), append(slices.Clip(v.items), value{kind: isObject})
		member = &v.items[len(v.items)-1]
	}
	if len(steps) > 1 {
		return member.put(steps[1:], o)
	}
	member.kind = isNull
	if o.Under != "" {
		member.kind, member.text = isString, o.Under
	}
	return true
}

// A keyset holds the keys of an object so far.
type keyset struct {
	exact bool // only keys that are equal count as one
	few   []string
	many  map[string]string // all of them, as they are folded, once few would take long to look through
}

// addOrTwin returns the key that was added before and is the same to a lenient
// reader, and adds it.
func (k *keyset) addOrTwin(key string) (twin string, found bool) {
	switch {
	case k.many != nil:
		name := k.name(key)
		if twin, found = k.many[name]; !found {
			k.many[name] = key
		}
		return twin, found
	case len(k.few) < 16:
		for _, twin := range k.few {
			if twin == key || !k.exact && fold.Same(twin, key) {
				return twin, true
			}
		}
		k.few = append(k.few, key)
		return "", false
	}
	k.many = make(map[string]string, 2*len(k.few))
	for _, twin := range k.few {
		k.many[k.name(twin)] = twin
	}
	return k.addOrTwin(key)
}

func (k *keyset) name(key string) string {
	if k.exact {
		return key
	}
	return fold.Name(key)
}

// visible is a key in ASCII, cut.
func visible(key string) string {
	if runes := []rune(key); len(runes) > 40 {
		return strconv.QuoteToASCII(string(runes[:40])) + "…"
	}
	return strconv.QuoteToASCII(key)
}

// step is the way to the i-th of what v holds.
func (v *value) step(i int) string {
	if v.kind == isObject {
		return v.keys[i]
	}
	return strconv.Itoa(i)
}

// An alikeError is a key that is not the one a test asks for, but is to a server
// that ignores case, or form, or what follows a NUL (package fold). Whether the test
// holds cannot be told then (FINDINGS H1).
type alikeError struct{ key, meant string }

func (e alikeError) Error() string {
	return "many servers take its key " + visible(e.key) + " for " + visible(e.meant)
}
