package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// A Leaf is one value among the arguments that holds no others.
type Leaf struct {
	Name  string `json:"name"`            // JSON pointer
	Text  string `json:"text"`            // as JSON, cut when long
	Whole string `json:"whole,omitempty"` // all of it, where Text is cut and the View is whole
	Cut   bool   `json:"cut,omitempty"`   // Text announces how long the value is, and its SHA-256
}

// A Fact is one line of a View.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// How much is shown of what is long.
const (
	shownHead    = 300 // characters of one value
	shownTail    = 60
	shownLeaves  = 200
	compactBytes = 2 << 10
)

// leaves lists every value among the arguments that holds no others, or says
// how many it leaves out.
func leaves(args []byte, whole bool) (all []Leaf, more int) {
	var walk func(pointer jsontext.Pointer, i int)
	walk = func(pointer jsontext.Pointer, i int) {
		for item := range rawjson.Parts(args, i) {
			if c := args[item.Start]; (c == '{' || c == '[') && args[rawjson.Space(args, item.Start+1)] != c+2 {
				walk(pointer.AppendToken(item.Name), item.Start)
				continue
			}
			if !whole && len(all) == shownLeaves {
				more++
				continue
			}
			all = append(all, leaf(string(pointer.AppendToken(item.Name)), item.Of(args), whole))
		}
	}
	walk("", rawjson.Space(args, 0))
	return all, more
}

func leaf(pointer string, raw []byte, whole bool) Leaf {
	var m text.Marks
	l := Leaf{Name: string(m.AppendLine(nil, pointer))}
	if s, ok := jsonrpc.Unquote(raw); ok {
		shown, cut := appendCut(&m, nil, s)
		if l.Text, l.Cut = string(shown), cut; cut && whole {
			l.Whole = string(m.AppendQuoted(nil, s))
		}
		return l
	}
	if len(raw) > shownHead+shownTail {
		l.Cut = true
		l.Text = string(raw[:shownHead]) + "…" + string(raw[len(raw)-shownTail:]) + measure(len(raw), raw)
		if whole {
			l.Whole = string(raw)
		}
		return l
	}
	l.Text = string(slices.DeleteFunc(slices.Clone(raw), func(c byte) bool { return c <= ' ' }))
	return l
}

// appendCut appends a string as JSON; of a long one the head and the tail, with
// its length and digest.
func appendCut(m *text.Marks, dst []byte, s string) (shown []byte, cut bool) {
	n := utf8.RuneCountInString(s)
	if n <= shownHead+shownTail {
		return m.AppendQuoted(dst, s), false
	}
	head, tail := offset(s, shownHead), offset(s, n-shownTail)
	dst = append(m.AppendQuoted(dst, s[:head]), "…"...)
	m.Count(s[head:tail])
	dst = m.AppendQuoted(dst, s[tail:])
	return append(dst, measure(n, []byte(s))...), true
}

// offset is where the n-th character begins.
func offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func measure(n int, whole []byte) string {
	sum := sha256.Sum256(whole)
	return fmt.Sprintf(" (cut: %d of %d characters shown, sha256 %s)", shownHead+shownTail, n, hex.EncodeToString(sum[:4]))
}

// compact puts all arguments on one line of limited length.
func compact(args []byte, m *text.Marks) string {
	if args == nil {
		return "(not shown here)"
	}
	line := rawjson.AppendCanonical(nil, args, func(dst []byte, s string) []byte {
		dst, _ = appendCut(m, dst, s)
		return dst
	})
	if len(line) <= compactBytes {
		return string(line)
	}
	sum := sha256.Sum256(Canonical(args))
	note := fmt.Sprintf(" (cut: %d bytes, sha256 %s)", len(args), hex.EncodeToString(sum[:4]))
	const tail = compactBytes / 8
	head := compactBytes - tail - len(note) - len("…")
	from := len(line) - tail
	for !utf8.RuneStart(line[head]) {
		head--
	}
	for !utf8.RuneStart(line[from]) {
		from++
	}
	return string(line[:head]) + "…" + string(line[from:]) + note
}

// Members of params beside the arguments reach the server as well, so people see
// them wherever they see the arguments: as leaves whose names begin with params/,
// which no pointer into the arguments does, and before these, so that no number of
// arguments pushes them out of sight (FINDINGS H3).

const besideNote = "brings more than arguments: what stands beside them (params/…) reaches the server too"

// besideLeaves are the leaves of what stands beside the arguments. More than are
// shown of arguments stand as one, cut.
func besideLeaves(beside []byte, whole bool) []Leaf {
	if len(beside) == 0 {
		return nil
	}
	all, more := leaves(beside, whole)
	if more > 0 {
		all = []Leaf{leaf("", beside, whole)}
	}
	for i := range all {
		all[i].Name = "params" + all[i].Name
	}
	return all
}
