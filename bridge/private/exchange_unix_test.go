//go:build unix

package private_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A file of somebody else's making keeps its mode, and what it has become meanwhile is
// not written over.
func TestAnExchangeKeepsTheModeAndStopsAtTheLastMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	dress := func(f *os.File) error { return f.Chmod(0o640) }
	raced := errors.New("raced")
	if err := private.Exchange(path, []byte("new"), dress, func() error { return raced }); !errors.Is(err, raced) {
		t.Errorf("an exchange that is off: %v", err)
	}
	if err := private.Exchange(path, []byte("new"), func(*os.File) error { return raced }, func() error { return nil }); !errors.Is(err, raced) {
		t.Errorf("a file that cannot be dressed: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "old" {
		t.Errorf("the file holds %q", text)
	}
	if err := private.Exchange(path, []byte("new"), dress, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if text, _ := os.ReadFile(path); err != nil || string(text) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("the file holds %q, %v, %v", text, info, err)
	}
	if all, _ := os.ReadDir(filepath.Dir(path)); len(all) != 1 {
		t.Errorf("something is left beside it: %v", all)
	}
}
