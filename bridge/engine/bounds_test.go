package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
)

// A progress token has a greatest length, as it is written, in each dialect (FINDINGS T3). So has a
// name: TestALongNameOfAToolHeldEverybodyUp.
func TestHowLongAProgressTokenMayBe(t *testing.T) {
	for n, fits := range map[int]bool{1: true, tokenMax - 1: true, tokenMax: true, tokenMax + 1: false} {
		for _, token := range []string{`"` + strings.Repeat("t", max(0, n-2)) + `"`, strings.Repeat("1", n)} {
			if n == 1 && token == `""` || token[0] == '1' && n > 64 {
				continue // a number has 64 digits at most
			}
			everyDialect(t, asksAllButReads, func(s *stage) {
				s.asksFor("bob", "e1", "1", "read_file", `{"path":"/a"}`, `"_meta":{"progressToken":`+token+`},`)
				if ran := s.asked() == 1; ran != fits {
					t.Errorf("a token of %d bytes: ran %v", len(token), ran)
				}
				if !fits {
					s.refused(-32602, fmt.Sprintf("the progress token is longer than %d bytes", tokenMax))
				}
			})
		}
	}
}

// Numbers that a schema can be held against, at their bounds.
func TestNumbersThatAreLookedInto(t *testing.T) {
	for text, looked := range map[string]bool{
		strings.Repeat("1", catalog.MaxDigits-1): true, strings.Repeat("1", catalog.MaxDigits): true, strings.Repeat("1", catalog.MaxDigits+1): false,
		fmt.Sprintf("1e%d", catalog.MaxExponent): true, fmt.Sprintf("1E+%d", catalog.MaxExponent): true, fmt.Sprintf("1e-%d", catalog.MaxExponent): true,
		fmt.Sprintf("1e%d", catalog.MaxExponent+1): false, fmt.Sprintf("1E+%d", catalog.MaxExponent+1): false, fmt.Sprintf("1e-%d", catalog.MaxExponent+1): false, "1e99999999999999999999": false, "0": true, "-0.0": true,
	} {
		if _, is := catalog.Value([]byte(text)).(json.Number); is != looked {
			t.Errorf("%.20s of %d bytes is looked into: %v", text, len(text), is)
		}
	}
}

// Where words of others are cut, and between which characters.
func TestWhereWordsOfOthersAreCut(t *testing.T) {
	for n, cut := range map[int]bool{refusal.Clipped - 1: false, refusal.Clipped: false, refusal.Clipped + 1: true} {
		if got := refusal.Clip(strings.Repeat("x", n)); !strings.HasPrefix(got, strings.Repeat("x", min(n, refusal.Clipped))) || (got != strings.Repeat("x", n)) != cut {
			t.Errorf("of %d bytes: %d", n, len(got))
		}
	}
	whole := strings.Repeat("x", refusal.Clipped-1)
	if got := refusal.Clip(whole + "é"); got != whole+"…" {
		t.Errorf("within a character: %q", got[len(whole):])
	}
}
