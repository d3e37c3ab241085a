package jsonrpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Every byte at every place of a number: what goes on with it is as encoding/json has it, at both
// ends of the digits (FINDINGS T3).
func TestEveryByteOfANumber(t *testing.T) {
	for c := range 0x80 {
		for _, form := range []string{`%s`, `-%s`, `1%s`, `0%s`, `1%s0`, `1.%s`, `1.0%s`, `1e%s`, `1e+%s`, `1E0%s`} {
			text := fmt.Sprintf(`{"a":`+form+`}`, string(rune(c)))
			if err := scan(text, jsonrpc.Judged); (err == nil) != json.Valid([]byte(text)) {
				t.Errorf("%q: %v, want valid %v", text, err, err != nil)
			}
		}
	}
}

// Halves of pairs and what stands beside their ranges, first and second, in all that reads them.
func TestPairsAtTheirEnds(t *testing.T) {
	for _, c := range []struct {
		text, value string
		whole       bool
	}{
		{`\ud7ff`, "\ud7ff", true},
		{`\ud800`, "\ufffd", false},
		{`\udbff`, "\ufffd", false},
		{`\udc00`, "\ufffd", false},
		{`\udfff`, "\ufffd", false},
		{`\ue000`, "\ue000", true},
		{`\ud800\udbff`, "\ufffd\ufffd", false},
		{`\ud800\udc00`, "\U00010000", true},
		{`\ud800\udfff`, "\U000103ff", true},
		{`\ud800\ue000`, "\ufffd\ue000", false},
		{`\udbff\udbff`, "\ufffd\ufffd", false},
		{`\udbff\udc00`, "\U0010fc00", true},
		{`\udbff\udfff`, "\U0010ffff", true},
		{`\udbff\ue000`, "\ufffd\ue000", false},
		{`\udc00\udc00`, "\ufffd\ufffd", false},
		{`\ud7ff\udc00`, "\ud7ff\ufffd", false},
	} {
		quoted := []byte(`"` + c.text + `"`)
		text := `{"id":` + string(quoted) + `}`
		if err := scan(text, jsonrpc.Judged); (err == nil) != c.whole {
			t.Errorf("%s: %v, want whole %v", c.text, err, c.whole)
		}
		accepts(t, text, jsonrpc.Passed)
		var value string
		if err := json.Unmarshal(jsonrpc.Mend(quoted), &value); err != nil || value != c.value || (string(jsonrpc.Mend(quoted)) == string(quoted)) != c.whole {
			t.Errorf("%s is mended to %s, want %q", c.text, jsonrpc.Mend(quoted), c.value)
		}
		twice := `{"` + c.text + `":1,"` + c.value + `":2}`
		if err := scan(twice, jsonrpc.Rules{Depth: 9, Size: 99, EveryLevel: true, Halves: true}); err == nil || err.Reason != jsonrpc.DuplicateKey {
			t.Errorf("%s: %v", twice, err)
		}
	}
}

// A text of JSON may break off anywhere: what mends it does not read past its end.
func TestWhatIsCutOffIsMendedAsFarAsItGoes(t *testing.T) {
	whole := `"\ud800\udc00\ud800\"\\\ud83d\u`
	for n := range len(whole) + 1 {
		text := []byte(whole)[:n:n]
		if got := jsonrpc.Mend(text); len(got) != n {
			t.Errorf("%s is mended to %s", text, got)
		}
	}
}

// Of the same key twice, the second is noticed whichever it is: among the first few keys,
// which are compared one by one, as the last of them, and beyond (FINDINGS T3).
func TestAKeyTwiceAtEveryPlace(t *testing.T) {
	for n := 2; n <= 40; n++ {
		for first := range n - 1 {
			var b strings.Builder
			for i := range n - 1 {
				fmt.Fprintf(&b, `"k%d":0,`, i)
			}
			text := `{"x":{` + b.String() + fmt.Sprintf(`"K%d":0}}`, first)
			if err := scan(text, jsonrpc.Called); err == nil || err.Reason != jsonrpc.KeysAlike {
				t.Fatalf("%d keys, the last like number %d: %v", n, first, err)
			}
			if err := scan(strings.Replace(text, "K", "k", 1), jsonrpc.Judged); err == nil || err.Reason != jsonrpc.DuplicateKey {
				t.Fatalf("%d keys, the last is number %d again: %v", n, first, err)
			}
		}
	}
}

// Keys beyond ASCII are folded up to a bound for all of them, and refused above it.
func TestHowMuchOfKeysIsFolded(t *testing.T) {
	for n, fits := range map[int]bool{256<<10 - 1: true, 256 << 10: true, 256<<10 + 1: false} {
		text := `{"x":{"é` + strings.Repeat("a", n-2) + `":0}}`
		if err := scan(text, jsonrpc.Called); (err == nil) != fits {
			t.Errorf("keys of %d bytes: %v", n, err)
		}
	}
}

// Whole numbers are one id however they are written, as far as all readers tell them apart.
func TestNumbersBesideWhichReadersDiffer(t *testing.T) {
	for id, want := range map[string]bool{
		"9007199254740991": true, "9007199254740992": false, "9007199254740993": false,
		"-9007199254740991": true, "-9007199254740992": false, "-9007199254740993": false,
	} {
		if same := jsonrpc.Loosely([]byte(id)) == jsonrpc.Loosely([]byte(id+".0")); same != want {
			t.Errorf("%s and %s.0 are one id: %v", id, id, same)
		}
	}
}

func TestWhatIsEscapedInAQuote(t *testing.T) {
	for in, want := range map[string]string{
		"\x00": `"\u0000"`, "\x1f": `"\u001f"`, " ": `" "`, "!": `"!"`, "#": `"#"`, "[": `"["`, "]": `"]"`, "\x7f": "\"\x7f\"",
		"\x80": "\"\ufffd\"", "\xff": "\"\ufffd\"", "\u0080": "\"\u0080\"", "\xc2": "\"\ufffd\"", "\xed\xa0\x80": "\"\ufffd\ufffd\ufffd\"", "\ufffd": "\"\ufffd\"",
	} {
		if got := string(jsonrpc.AppendQuote(nil, in)); got != want {
			t.Errorf("%+q is written %+q, want %+q", in, got, want)
		}
	}
}
