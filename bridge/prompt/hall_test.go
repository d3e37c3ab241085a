package prompt_test

import (
	"path/filepath"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/control/controltest"
)

// hallIn opens a bridge and returns a directory in which it can be found.
func hallIn(t *testing.T, id string) (*controltest.Hall, string) {
	t.Helper()
	h, dir := controltest.New(id), filepath.Join(t.TempDir(), "control")
	h.Open(t, dir)
	return h, dir
}
