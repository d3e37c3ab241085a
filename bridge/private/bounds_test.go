package private

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// The symbolic links on the way to a file are followed up to their bound (FINDINGS T3).
func TestHowManyLinksLeadToAFile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "file")
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= mostLinks+1; n++ {
		next := filepath.Join(dir, fmt.Sprint("link", n))
		if err := os.Symlink(at, next); err != nil {
			if runtime.GOOS == "windows" {
				t.Skip(err) // not everybody may there
			}
			t.Fatal(err)
		}
		at = next
		if err := wayTo(at); n >= mostLinks-1 && (err == nil) != (n <= mostLinks) {
			t.Errorf("%d links: %v", n, err)
		}
	}
}
