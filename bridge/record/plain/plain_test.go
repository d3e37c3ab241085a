package plain_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record/plain"
)

// That a gateway returns our own request is no forgery, and nothing to be warned of.
func TestOurOwnRequestIsNoForgery(t *testing.T) {
	for detail, want := range map[string]slog.Level{record.OwnReturned: slog.LevelDebug, "an echo or a forgery of our own id": slog.LevelWarn} {
		if got := plain.Level(&record.Record{Event: record.Dropped, Reason: "from_self", Detail: detail}); got != want {
			t.Errorf("%s: %v", detail, got)
		}
	}
}

// Whoever saved a policy file about which nobody is asked reads why it does not count, and
// what to do.
func TestAFileThatIsNotAskedAboutIsWarnedOfWithAWayOut(t *testing.T) {
	r := &record.Record{Event: record.ReloadDecided, Verdict: "deny", Reason: "too_large", Count: 20000}
	if got := plain.Words(r); !strings.Contains(got, "20000 ways") || !strings.Contains(got, "smaller steps, or restart the bridge") {
		t.Error(got)
	}
	if plain.Level(r) != slog.LevelWarn {
		t.Error(plain.Level(r))
	}
}
