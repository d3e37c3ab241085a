package policy_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func TestSuggestions(t *testing.T) {
	known := []string{"topic", "token-file", "allow", "id"}
	for word, want := range map[string]string{"topik": "topic", "Topic": "topic", "tokenfile": "token-file", "alow": "allow", "xyz": "", "ix": "id", "": "", "tpoic": "topic", "tpoci": "", "i": "id", "d": "id", "x": ""} {
		if got := policy.Nearest(word, known); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
