//go:build unix

package socket

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Anybody can make something in /tmp under the name that a directory of ours would have: that it is
// not ours says that no socket of ours is in it, and hides none that is elsewhere.
func TestSomebodyElsesShortDirectoryHidTheBridges(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give something to somebody else")
	}
	dir, others := filepath.Join(t.TempDir(), "c"), t.TempDir()
	done := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	done(os.Mkdir(dir, 0o700))
	one := filepath.Join(dir, "notes.sock")
	done(os.WriteFile(one, nil, 0o600))
	for name, at := range map[string]string{"directory": filepath.Join(others, "d"), "file": filepath.Join(others, "f"), "link": filepath.Join(others, "l")} {
		switch name {
		case "directory":
			done(os.Mkdir(at, 0o755))
			done(os.WriteFile(filepath.Join(at, "forged.sock"), nil, 0o600))
		case "file":
			done(os.WriteFile(at, nil, 0o644))
		case "link":
			done(os.Symlink(dir, at))
		}
		done(os.Lchown(at, 65534, 65534))
		if all, err := pathsIn(dir, at); err != nil || !slices.Equal(all, []string{one}) {
			t.Errorf("with a %s of somebody else: %v, %v", name, all, err)
		}
		if _, err := pathsIn(at, ""); err == nil {
			t.Errorf("a %s of somebody else is looked for bridges", name)
		}
	}
	opened := filepath.Join(t.TempDir(), "s")
	done(os.Mkdir(opened, 0o755))
	if _, err := pathsIn(dir, opened); err == nil {
		t.Error("nobody is told that our own is open to others, and what is in it cannot be reached")
	}
}
