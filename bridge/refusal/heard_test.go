package refusal_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
)

// The tools are asked for on the way to a call, and who called add_note read "refused tools/list,
// it did not run" where nothing could be put on record.
func TestABridgeThatRunsNothingSaysThatAlone(t *testing.T) {
	for _, r := range []refusal.Refusal{refusal.AuditUnavailable(), refusal.Halted("local", "")} {
		var answer struct{ Error json.RawMessage }
		if err := json.Unmarshal(r.Payload([]byte("1")), &answer); err != nil {
			t.Fatal(err)
		}
		h, ok := refusal.Hear(answer.Error)
		if want := "notes runs nothing now: " + r.Message + " (" + r.Reason + ")"; !ok || h.Sentence("notes", "tools/list") != want {
			t.Errorf("%q, not %q", h.Sentence("notes", "tools/list"), want)
		}
	}
}
