package prompt_test

import (
	"path/filepath"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
)

// hallIn opens a bridge and returns a directory in which it can be found.
func hallIn(t *testing.T, id string) (*inboxtest.Hall, string) {
	t.Helper()
	h, dir := inboxtest.New(id), filepath.Join(t.TempDir(), "control")
	h.Open(t, dir)
	return h, dir
}
