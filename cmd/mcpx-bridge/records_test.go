package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
)

// Which call a proposal became may have been said before the time from which on its records
// are wanted.
func TestACallOfAProposalFromBeforeSinceIsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	line := func(age time.Duration, rest string) string {
		return fmt.Sprintf(`{"seq":1,"ts":"%s","mono_ms":1,"prev":"%064d",%s}`+"\n", time.Now().Add(-age).UTC().Format("2006-01-02T15:04:05.000000Z"), 0, rest)
	}
	text := line(2*time.Hour, `"event":"asked","call":"c-1","env":"p-1","via":"proposal"`) +
		line(time.Minute, `"event":"start","call":"c-1"`) + line(time.Minute, `"event":"start","call":"c-2"`)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for proposal, want := range map[string][]string{"p-1": {"c-1"}, "": {"c-1", "c-2"}} {
		pick, since, err := recordFilter{Proposal: proposal, Since: "1h"}.picker()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for r, err := range audit.Records(path, since) {
			if err != nil {
				t.Fatal(err)
			}
			if pick(&r) {
				got = append(got, r.Call)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("of proposal %q: %q, not %q", proposal, got, want)
		}
	}
}
