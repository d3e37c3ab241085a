package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// Every byte at every place of an escape: what is a digit of it, and what stands for what, is
// as encoding/json has it, at both ends of each range (FINDINGS T3).
func TestEveryByteOfAnEscape(t *testing.T) {
	for c := range 256 {
		for _, form := range []string{`"\%s"`, `"\u%s041"`, `"\u0%s41"`, `"\u00%s1"`, `"\u004%s"`} {
			text := fmt.Appendf(nil, form, []byte{byte(c)})
			if c >= 0x80 || c == '"' || c == 'u' && form == `"\%s"` {
				continue // bytes that are no UTF-8 alone, an end, another form
			}
			var want string
			valid := json.Unmarshal(text, &want) == nil
			m, err := Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, text), Passed)
			if (err == nil) != valid {
				t.Errorf("%q: %v, want valid %v", text, err, valid)
				continue
			}
			if !valid {
				continue
			}
			if got, ok := Unquote(m.Get(ID)); !ok || got != want {
				t.Errorf("%q is read as %q (%v), want %q", text, got, ok, want)
			}
		}
	}
}

// Wherever two bytes stand side by side, the run of plain text ends at the first that is none.
func TestEveryPairOfBytesEndsARunWhereItMust(t *testing.T) {
	ends := func(c byte) bool { return c < ' ' || c > '~'+1 || c == '"' || c == '\\' }
	for pair := range 1 << 16 {
		one, two := byte(pair>>8), byte(pair)
		for _, at := range []int{0, 1, 6, 7, 8, 14, 15, 16, 23, 31, 38, 39, 40, 46, 47} {
			text := append(bytes.Repeat([]byte{'x'}, 49), '"')
			text[at], text[at+1] = one, two
			want := len(text) - 1
			switch {
			case ends(one):
				want = at
			case ends(two):
				want = at + 1
			}
			if got := plain(text, 0); got != want {
				t.Fatalf("%q: a run of %d, not %d", text, got, want)
			}
		}
	}
}
