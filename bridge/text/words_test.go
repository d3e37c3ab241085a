package text_test

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

func TestNamesInASentence(t *testing.T) {
	people := []string{"ann", "ben", "carol", "dan"}
	for most, want := range map[int][]string{
		0: {"", "ann", "ann and ben", "ann, ben and carol", "ann, ben, carol and dan"},
		3: {"", "ann", "ann and ben", "ann, ben and carol", "ann, ben, carol and 1 more"},
		1: {"", "ann", "ann and 1 more", "ann and 2 more", "ann and 3 more"},
	} {
		for n, words := range want {
			if got := text.Series(people[:n], most); got != words {
				t.Errorf("%d of %d: %q, want %q", most, n, got, words)
			}
		}
	}
	if got := text.Some(make([]string, 21)); !strings.HasSuffix(got, ",  and 1 more") {
		t.Errorf("some of 21: %q", got)
	}
}

func TestAReasonIsReadAsWords(t *testing.T) {
	if got := text.Words("withdraw_not_proposer"); got != "withdraw not proposer" {
		t.Errorf("%q", got)
	}
}

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
