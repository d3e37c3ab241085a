package node

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// Twenty thousand files of runs that were killed held a start: all processes were looked at
// for each of them, and a start that was to end went on with it.
func TestAStartThatWasToEndWentOnWithDeadFamilies(t *testing.T) {
	home := t.TempDir()
	state := localgateway.StateDir(filepath.Join(home, "mcpx-bridge"))
	if err := state.Open(); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := os.WriteFile(state.File(fmt.Sprintf("family-fs-%032x.lock", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := families{state: state, log: slog.New(slog.DiscardHandler)}
	left := func() int {
		names, _ := filepath.Glob(state.File("family-fs-*.lock"))
		return len(names)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	f.adopt(ended, "fs", &stdio.Options{Sweep: true, Args: []string{"true"}})()
	if n := left(); n != 300 {
		t.Errorf("%d of 300 are left by one that was to end", n)
	}
	f.adopt(t.Context(), "fs", &stdio.Options{Sweep: true, Args: []string{"true"}})()
	if n := left(); n != 0 {
		t.Errorf("%d are left", n)
	}
}
