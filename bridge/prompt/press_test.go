package prompt

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// Whoever types on for another window is not heard in the middle of it: each key makes the
// silence begin anew (FINDINGS U1).
func TestEachKeyMakesTheLockLonger(t *testing.T) {
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	m := newModel(time.Millisecond, time.Second, true)
	m.view, m.since = &approval.View{}, start.Add(-time.Minute)
	for _, k := range []struct {
		r     rune
		after time.Duration
		heard bool
	}{
		{'z', 0, false}, {'a', 600 * time.Millisecond, false}, {'d', 1200 * time.Millisecond, false}, {'j', 1800 * time.Millisecond, false},
		{'a', 2799 * time.Millisecond, false}, {'a', 3799 * time.Millisecond, true},
	} {
		m.press(key{k.r, start.Add(k.after)})
		if heard := m.hint != ""; heard != k.heard { // that it is not for us to decide is an answer to an answer
			t.Errorf("%c after %v is heard: %v, %q", k.r, k.after, heard, m.hint)
		}
	}
}
