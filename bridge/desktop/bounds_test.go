package desktop

import (
	"fmt"
	"testing"
)

// What a code says of a refusal, at both ends of ours and beside them (FINDINGS T3).
func TestCodesOfRefusalsAtTheirBounds(t *testing.T) {
	for code, ours := range map[int]bool{-31000: false, -31001: true, -31002: true, -31098: true, -31099: true, -31100: false, -30999: false, 31001: false, -32600: false} {
		if words := refusal(Pair{Peer: "fs", Name: "x"}, fmt.Appendf(nil, `{"code":%d,"message":"m"}`, code)); (words != "") != ours {
			t.Errorf("%d: %q", code, words)
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
