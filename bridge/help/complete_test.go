package help

import (
	"context"
	"slices"
	"testing"
)

// What others called themselves reaches no shell unless it is a word to every shell.
func TestNamesThatAreCompletedAreWords(t *testing.T) {
	for name, isWord := range map[string]bool{
		"fs": true, "read_file": true, "a-b.c/d@e+1": true,
		"": false, "-f": false, "--allow": false, "$(touch x)": false, "`x`": false, "a b": false, "a;b": false, "a|b": false, "a>b": false,
		"a'b": false, "a\"b": false, "a\\b": false, "*": false, "?": false, "[a]": false, "~": false, "!a": false, "#a": false, "a:b": false, "a=b": false,
		"a\tb": false, "a\nb": false, "a\x1b[2J": false, "a\u202eb": false, "\u00e4": false, "{a,b}": false, "a&b": false, "%a": false,
	} {
		find := func(context.Context, []string) []string { return []string{name} }
		if got := Found(t.Context(), find, nil, ""); slices.Contains(got, name) != isWord {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// Who does not answer keeps no shell waiting.
func TestNamesThatDoNotComeAreNotWaitedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hang := func(ctx context.Context, _ []string) []string { <-t.Context().Done(); return []string{"late"} }
	if got := Found(ctx, hang, nil, ""); got != nil {
		t.Errorf("%q", got)
	}
}
