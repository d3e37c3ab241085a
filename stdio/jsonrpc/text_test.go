package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Strings and other scalars are read as strictly as by another strict reader, wherever they stand, and say
// what encoding/json says they do.
func FuzzScalar(f *testing.F) {
	for _, s := range []string{`""`, `"a\"b"`, `"\n\n\\\/\b\f\r\t"`, `"\u00e9\ud83d\ude00é` + "\U0001f600" + `"`, `"\ud800"`, `"\udc00\ud800"`, `"\u12"`, `"\x"`, "\"\xff\"", "\"\x1f\"", `"`, `"\`,
		`0`, `-0`, `01`, `1.`, `1.50e+07`, `-`, `1e`, `true`, `tru`, `false`, `null`, `nul`, `{}`, `[1]`, ` 1`, `1 `, ``, `"` + strings.Repeat("plain ", 20) + `\n` + strings.Repeat("x", 70) + `\t"`} {
		f.Add([]byte(s), []byte(` ,"`))
	}
	f.Fuzz(func(t *testing.T, text, before []byte) {
		all := append(append([]byte(nil), before...), text...)
		kind := jsontext.Value(text).Kind()
		want := jsontext.Value(text).IsValid() && kind != '{' && kind != '[' && len(strings.Trim(string(text), " \t\r\n")) == len(text)
		if end := Scalar(all, len(before)); (end == len(all)) != want {
			t.Fatalf("%q ends at %d of %d, valid %v", text, end-len(before), len(text), want)
		}
		s, end, ok := String(all, len(before))
		if whole := ok && end == len(all); whole != (want && kind == '"') {
			t.Fatalf("%q is a string: %v, up to %d", text, ok, end-len(before))
		} else if whole {
			var by string
			if err := json.Unmarshal(text, &by); err != nil || by != s {
				t.Fatalf("%q says %q, by encoding/json %q (%v)", text, s, by, err)
			}
		}
	})
}
