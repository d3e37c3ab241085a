package refusal_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
)

// Whose call was changed before it was allowed reads in what, and no value.
func TestACallerReadsWhatWasChangedOfItsCall(t *testing.T) {
	for _, c := range []struct {
		people  int
		changed []string
		want    string
	}{
		{1, nil, ""},
		{1, []string{"/path"}, ", who changed path"},
		{1, []string{"/edits/0/newText", "@timeout"}, ", who changed edits/0/newText and its time limit"},
		{2, []string{"/local"}, ", one of whom changed local"},
	} {
		if got := refusal.Changed(c.people, c.changed); got != c.want {
			t.Errorf("%d, %q: %q", c.people, c.changed, got)
		}
	}
}
