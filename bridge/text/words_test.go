package text_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

func TestWordsAreFilledIntoLines(t *testing.T) {
	for said, want := range map[string]string{
		"":                      "  ",
		"a bb\n ccc  dddd":      "  a bb\n  ccc\n  dddd",
		"日本 語":                  "  日本\n  語",
		"overlong x y zz a b c": "  overlong\n  x y\n  zz a\n  b c",
	} {
		if got := text.Fill(said, "  ", 6); got != want {
			t.Errorf("%q becomes %q, want %q", said, got, want)
		}
	}
}
