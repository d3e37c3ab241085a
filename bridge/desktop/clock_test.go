package desktop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// What is due at one moment is done in the order in which it was asked for:
// who called first is answered first. The reverse order passed all
// tests.
func TestWhatIsDueAtOneMomentIsDoneInOrder(t *testing.T) {
	s := joined(t, `{}`)
	for id := range 5 {
		s.call(id, "fs__write", fmt.Sprintf(`{"n":%d}`, id))
	}
	s.pass(50 * time.Second)
	inOrder(t, s.heard())

	// The same after one leap of the clock over all that was due, as after a sleep.
	s = joined(t, `{}`)
	for id := range 5 {
		s.call(id, "fs__write", fmt.Sprintf(`{"n":%d}`, id))
	}
	s.now = s.now.Add(time.Minute)
	s.step(desktop.Due{})
	inOrder(t, s.heard())
}

func inOrder(t *testing.T, said []string) {
	t.Helper()
	if len(said) != 5 {
		t.Fatalf("%d calls are answered", len(said))
	}
	for id, line := range said {
		if !strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, id)) {
			t.Errorf("answered in place %d: %s", id, line)
		}
	}
}
