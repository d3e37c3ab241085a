//go:build unix

package private_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

func withMode(t *testing.T, mode fs.FileMode) (string, fs.FileInfo) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "it")
	if mode.IsDir() {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	} else if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return name, info
}

func TestWhatOthersCanGetAtIsRefused(t *testing.T) {
	for mode, good := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o601: false,
		fs.ModeDir | 0o700: true, fs.ModeDir | 0o710: false} {
		name, info := withMode(t, mode)
		err := private.Closed(name, info)
		if good != (err == nil) || err != nil && !strings.Contains(err.Error(), name+" (mode ") {
			t.Errorf("%v: %v", mode, err)
		}
	}
	for mode, good := range map[fs.FileMode]bool{0o755: true, 0o775: false, 0o757: false, fs.ModeSticky | 0o777: true} {
		name, info := withMode(t, fs.ModeDir|mode)
		if err := private.Sheltered(name, info); good != (err == nil) {
			t.Errorf("%v: %v", mode, err)
		}
	}
}

// Root's own files are nobody else's; only root can try.
func TestWhatBelongsToSomebodyElseIsRefused(t *testing.T) {
	name, _ := withMode(t, 0o600)
	if err := os.Chown(name, 12345, -1); err != nil {
		t.Skip("not root")
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := private.Closed(name, info); err == nil || !strings.Contains(err.Error(), "another user (uid 12345)") {
		t.Error(err)
	}
	if err := private.Sheltered(name, info); err == nil {
		t.Error("a directory of somebody else shelters nothing")
	}
}

func TestOpenFollowsNoLinkAndWaitsForNobody(t *testing.T) {
	name, _ := withMode(t, 0o600)
	link := name + ".link"
	if err := os.Symlink(name, link); err != nil {
		t.Fatal(err)
	}
	if f, err := private.Open(link, os.O_RDONLY); err == nil {
		f.Close()
		t.Error("it follows a link")
	}
	pipe := name + ".pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE} {
		if _, err := private.Open(pipe, flag); err == nil || !strings.Contains(err.Error(), "is no regular file but a pipe") {
			t.Errorf("a pipe, for %x: %v", flag, err)
		}
	}
	if _, err := private.OpenRegular(pipe); err == nil || !strings.Contains(err.Error(), "is no regular file but a pipe") {
		t.Errorf("a pipe: %v", err)
	}
	if f, err := private.OpenRegular(link); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	f, err := private.Open(name+".new", os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

func TestALockIsHeldUntilItsFileIsClosed(t *testing.T) {
	name, _ := withMode(t, 0o600)
	open := func() *os.File {
		f, err := private.Open(name, os.O_RDWR)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	try := func(f *os.File, alone, want bool) {
		t.Helper()
		if got, err := private.Lock(f, alone); got != want || err != nil {
			t.Errorf("alone %v: %v %v", alone, got, err)
		}
	}
	first, second, third := open(), open(), open()
	try(first, true, true)
	try(second, true, false)
	try(second, false, false)
	first.Close()
	try(second, false, true)
	try(third, false, true)
	try(third, true, false)
}
