package jsonrpc

import (
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
