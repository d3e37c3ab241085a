package jsonrpc

import (
	"encoding/json"
	"testing"
)

// Every spelling of a code, and what is none.
func TestEverySpellingOfACode(t *testing.T) {
	const unread = 1
	for raw, want := range map[string]int{
		"-31004": -31004, "-31004.0": -31004, "-3.1004e4": -31004, "-310040E-1": -31004, "0": 0, "-0.0": 0, "9007199254740991.0": 1<<53 - 1,
		"9007199254740992.0": unread, "1e400": unread, "-31004.5": unread, `"-31004"`: unread, "true": unread, "[]": unread, "null": 0,
	} {
		var e struct{ Code Code }
		err := json.Unmarshal([]byte(`{"code":`+raw+`}`), &e)
		if (err != nil) != (want == unread) || err == nil && e.Code != Code(want) {
			t.Errorf("%s: %d, %v", raw, e.Code, err)
		}
	}
}
