//go:build unix

package install_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

// Anybody can put a named pipe where a directory is everybody's. Nobody waits
// for its other end.
func TestANamedPipeKeepsNobodyWaiting(t *testing.T) {
	s := newStage(t, "cursor", install.Project)
	if err := syscall.Mkfifo(s.place.File, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.place.Install(ours, true); err == nil || !strings.Contains(err.Error(), "is no regular file but a pipe") {
		t.Errorf("a named pipe: %v", err)
	}
}
