package desktop

import (
	"fmt"
	"testing"
)

// What a code says of a refusal, at both ends of ours and beside them (FINDINGS T3).
func TestCodesOfRefusalsAtTheirBounds(t *testing.T) {
	for code, ours := range map[int]bool{-31000: false, -31001: true, -31002: true, -31098: true, -31099: true, -31100: false, -30999: false, 31001: false, -32600: false} {
		if words := inWords(Pair{Peer: "fs", Name: "x"}, fmt.Appendf(nil, `{"code":%d,"message":"m"}`, code)); (words != "") != ours {
			t.Errorf("%d: %q", code, words)
		}
	}
}

// A model was not told that a call had been refused, and a list was not asked for again,
// where a peer wrote the code as a number with a fraction or an exponent.
func TestACodeIsANumberHoweverItIsSpelled(t *testing.T) {
	for code, whole := range map[string]bool{"-31005.0": true, "-3.1005e4": true, "-310050E-1": true, "-31005.5": false, `"-31005"`: false} {
		raw := []byte(`{"code":` + code + `,"message":"m"}`)
		if words := inWords(Pair{Peer: "fs", Name: "x"}, raw); (words != "") != whole || passing(raw) != whole {
			t.Errorf("%s: %q, passing %v", code, words, passing(raw))
		}
	}
}

// What may hold a character that cannot be seen, and what cannot.
func TestWhatMayHoldWhatIsNotSeen(t *testing.T) {
	for raw, may := range map[string]bool{
		`"~"`: false, "\"\x7f\"": true, "\"\u0080\"": true, `"\u0041"`: true, `"\b"`: true, `"\f"`: true, `"\r"`: true, `"\n\t\/\"\\"`: false, `"\`: false, `" !"`: false,
	} {
		if suspect([]byte(raw)) != may {
			t.Errorf("%q: want %v", raw, may)
		}
	}
}
