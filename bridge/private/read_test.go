//go:build unix

package private_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A pipe without a writer would hold whoever opens it, past every signal.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, want := range map[string]string{pipe: "but a pipe", dir: "but a directory", os.DevNull: "but a device", socket: ""} {
		if _, err := private.Read(name, 10, private.Care{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("0123456789abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := private.Read(file, 10, private.Care{Check: private.Closed, Above: true}); err != nil || string(text) != "0123456789" {
		t.Errorf("%q %v", text, err)
	}
}

// Whoever can change a directory or a link on the way puts another file there.
func TestTheWayToAFileIsLookedAt(t *testing.T) {
	care := private.Care{Check: private.Authored, Above: true}
	dir := t.TempDir()
	inner := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	file, link := filepath.Join(inner, "f"), filepath.Join(dir, "link")
	loop := filepath.Join(dir, "loop")
	for _, err := range []error{os.WriteFile(file, []byte("x"), 0o644), os.Symlink("a/b/../b/f", link), os.Symlink("loop", loop)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(want string) {
		t.Helper()
		for _, name := range []string{file, link} {
			_, err := private.Read(name, 10, care)
			if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
	read("")
	for mode, want := range map[fs.FileMode]string{0o777: "anybody can write to the directory " + filepath.Dir(inner), 0o775: "", fs.ModeSticky | 0o777: ""} {
		if err := os.Chmod(filepath.Dir(inner), mode); err != nil {
			t.Fatal(err)
		}
		read(want)
	}
	if _, err := private.Read(loop, 10, care); err == nil {
		t.Error("a loop of links was read")
	}
	if os.Getuid() != 0 {
		return // it cannot be given away
	}
	if err := os.Lchown(link, 65534, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := private.Read(link, 10, care); !errors.Is(err, private.ErrForeign) {
		t.Errorf("a link of somebody else's: %v", err)
	}
	if err := os.Chown(filepath.Dir(inner), 65534, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := private.Read(file, 10, care); !errors.Is(err, private.ErrForeign) {
		t.Errorf("a directory of somebody else's: %v", err)
	}
}
