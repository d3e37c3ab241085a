package stdio

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
)

// A skim looks at the outermost members of a line that cannot be read, or is too
// long to be kept: whom it would have answered, and whether a reader that is
// less strict than ours finds a question in it. It takes the line piece by
// piece, keeps no more than a few hundred bytes, and minds neither depth, nor
// UTF-8, nor keys that stand twice.
//
// It follows strings and brackets alone, so of what is no JSON at all it says
// what the most forgiving reader could see. Its zero value is ready to use.
type skim struct {
	begun   bool // the first byte that is no white space has come
	object  bool // and was {
	over    bool // the outermost object was closed
	depth   int
	text    bool // in a string
	escaped bool // behind its backslash
	value   bool // behind the colon of an outermost member

	key, val []byte // of the outermost member at hand, as written, cut to skimMost

	ids     []string // the values of all its ids, as written
	methods []string // and of what some reader takes for its method
	speaks  bool     // it has another member of JSON-RPC
	cut     bool     // a key, or a method, is longer than what is kept: it may be any to a reader that passes over most of it
}

// skimMost is what is kept of one key or value: no key, id or method of MCP is
// longer.
const skimMost = 512

// skimmed looks at a whole line.
func skimmed(line []byte) *skim {
	k := &skim{}
	k.add(line)
	return k
}

// add takes the next piece.
func (k *skim) add(piece []byte) {
	for i := 0; i < len(piece); i++ {
		c := piece[i]
		switch {
		case k.text:
			if k.full() && !k.escaped { // most of what is long is long strings
				n := bytes.IndexAny(piece[i:], `"\`)
				if n < 0 {
					return
				}
				i += n
				c = piece[i]
			}
			k.inside(c)
		case !k.begun:
			k.begin(c)
		case k.object && !k.over:
			k.outside(c)
		}
	}
}

// full reports whether nothing more is kept of the key or value at hand.
func (k *skim) full() bool {
	return k.value && len(k.val) == skimMost || !k.value && len(k.key) == skimMost
}

// inside takes a byte of a string.
func (k *skim) inside(c byte) {
	k.keep(c)
	switch {
	case k.escaped:
		k.escaped = false
	case c == '\\':
		k.escaped = true
	case c == '"':
		k.text = false
	}
}

// begin takes what stands before the first bracket. A byte order mark is passed
// over, as readers do.
func (k *skim) begin(c byte) {
	switch c {
	case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF, 0xFE, 0xFF, 0:
	case '{':
		k.begun, k.object, k.depth = true, true, 1
	default:
		k.begun = true
	}
}

// outside takes a byte that is in no string.
func (k *skim) outside(c byte) {
	switch c {
	case '"':
		k.text = true
		k.keep(c)
	case '{', '[':
		k.keep(c)
		k.depth++
	case '}', ']':
		if k.depth--; k.depth > 0 {
			k.keep(c)
			return
		}
		k.member()
		k.over = true
	case ',':
		if k.depth == 1 {
			k.member()
			return
		}
		k.keep(c)
	case ':':
		if k.depth == 1 && !k.value {
			k.named()
			k.value = true
			return
		}
		k.keep(c)
	default:
		if c > ' ' {
			k.keep(c)
		}
	}
}

func (k *skim) keep(c byte) {
	switch {
	case k.value && len(k.val) < skimMost:
		k.val = append(k.val, c)
	case !k.value && len(k.key) < skimMost:
		k.key = append(k.key, c)
	}
}

// named notes a key as soon as it is known, whatever becomes of its value.
func (k *skim) named() {
	k.cut = k.cut || k.full()
	switch letters(k.key) {
	case "result", "error", "jsonrpc", "id":
		k.speaks = true
	}
}

// member notes an outermost member that is whole.
func (k *skim) member() {
	switch name := letters(k.key); {
	case name == "id":
		if id := string(k.val); id != "" && !slices.Contains(k.ids, id) {
			k.ids = append(k.ids, id)
		}
	case strings.HasPrefix(name, "method"): // a NUL ends it to some
		k.methods = append(k.methods, letters(k.val))
		k.cut = k.cut || k.full()
	}
	k.key, k.val, k.value = k.key[:0], k.val[:0], false
}

// answer is the id of the one response that the line would have been, nil if
// that cannot be told, and whether it would have been one at all.
func (k *skim) answer() (id []byte, was bool) {
	if !k.object || len(k.methods) > 0 || !k.speaks {
		return nil, false
	}
	if len(k.ids) == 1 {
		id = []byte(k.ids[0])
	}
	return id, true
}

// personal reports whether some reader may find a question for a person in the
// line as far as it has come. A line without its end is no question to anybody.
func (k *skim) personal() bool { return k.cut || slices.ContainsFunc(k.methods, resemblesPersonal) }

// resemblesPersonal reports whether a method, in its letters, is one that reaches
// a person to some reader: a NUL may end it.
func resemblesPersonal(method string) bool {
	return strings.HasPrefix(method, "elicitationcreate") || strings.HasPrefix(method, "samplingcreatemessage")
}

// letters is what the most forgiving reader makes of a name: escapes are
// resolved, case and form do not matter (package fold), and all but letters is
// passed over, be it what cannot be read.
func letters(raw []byte) string {
	var out strings.Builder
	for _, r := range string(unescaped(raw)) {
		switch {
		case 'a' <= r && r <= 'z':
			out.WriteRune(r)
		case 'A' <= r && r <= 'Z':
			out.WriteRune(r - 'A' + 'a')
		case r >= utf8.RuneSelf:
			out.WriteString(wideLetters()[r])
		}
	}
	return out.String()
}

// wideLetters are the characters beyond ASCII that fold to letters of ASCII, among
// others. They are looked up one by one, for a line may be long.
var wideLetters = sync.OnceValue(func() map[rune]string {
	all := map[rune]string{}
	for r := rune(utf8.RuneSelf); r < lastWide; r++ {
		plain := func(r rune) rune {
			if 'a' <= r && r <= 'z' {
				return r
			}
			return -1
		}
		if within := strings.Map(plain, fold.Name(string(r))); within != "" {
			all[r] = within
		}
	}
	return all
})

// lastWide is behind all such characters; a test holds it against Unicode.
const lastWide = 0x20000

// unescaped resolves the escapes of ASCII in any text, whatever else it holds.
func unescaped(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		i++
		if text[i] != 'u' {
			continue // what \n and \/ stand for is no letter
		}
		r := hex4(text[i+1:])
		if r < 0 {
			continue
		}
		i += 4
		if low := text[i+1:]; utf16.IsSurrogate(r) && bytes.HasPrefix(low, []byte(`\u`)) {
			if whole := utf16.DecodeRune(r, hex4(low[2:])); whole != utf8.RuneError {
				r = whole
				i += 6
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// hex4 is the number that text begins with, negative if there is none.
func hex4(text []byte) rune {
	if r, err := strconv.ParseUint(string(text[:min(len(text), 4)]), 16, 16); err == nil && len(text) >= 4 {
		return rune(r)
	}
	return -1
}

// mentions reports whether anybody can find the name of a question for a person
// anywhere in a line. It is quick for lines that have neither such a word nor
// anything that could hide one.
func mentions(line []byte) bool {
	for _, c := range line {
		if c == '\\' || c >= utf8.RuneSelf || c < ' ' {
			all := letters(line)
			return strings.Contains(all, "elicitation") || strings.Contains(all, "sampling")
		}
	}
	small := bytes.ToLower(line)
	return bytes.Contains(small, []byte("elicitation")) || bytes.Contains(small, []byte("sampling"))
}
