package socket_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

func TestSocketIsOursAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits say nothing here")
	}
	dir := filepath.Join(t.TempDir(), "control")
	d := inboxtest.New("fs").Open(t, dir)
	for name, want := range map[string]os.FileMode{dir: 0o700, d.Path(): 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %o, want %o", name, got, want)
		}
	}
	if d.Path() != filepath.Join(dir, "fs.sock") {
		t.Errorf("the socket is %s", d.Path())
	}
}

func TestOpenDirectoryIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits say nothing here")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := socket.Open(socket.Options{Dir: dir, ID: "fs", Inbox: inboxtest.New("fs")}); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("opened in a directory that others can get into: %v", err)
	}
	if _, err := socket.All(t.Context(), dir); err == nil {
		t.Error("looked for bridges in a directory that others can get into")
	}
}

func TestNothingThereIsNoError(t *testing.T) {
	all, err := socket.All(t.Context(), filepath.Join(t.TempDir(), "none"))
	if err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// live starts a process that lives behind a door in dir, and returns its
// socket.
func live(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_LIVE_IN="+dir, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("it said nothing")
	}
	return cmd, lines.Text()
}

func TestStaleSocketIsReplacedAndLiveOneIsNot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "control")
	first, path := live(t, dir)
	second := inboxtest.New("fs").Open(t, dir)
	if second.Path() == path {
		t.Fatal("a live socket was taken over")
	}
	if c := dial(t, path); c.Known.ID != "fs" {
		t.Errorf("the first is not there any more: %+v", c.Known)
	}
	if got := len(all(t, dir)); got != 2 {
		t.Errorf("%d bridges are found, want 2", got)
	}

	first.Process.Kill()
	first.Wait()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("nothing stale to replace: %v", err)
	}
	if got := len(all(t, dir)); got != 1 {
		t.Errorf("%d bridges are found, want 1", got)
	}
	if third := inboxtest.New("fs").Open(t, dir); third.Path() != path {
		t.Errorf("the third has %s, want %s", third.Path(), path)
	}
	dial(t, path)
}

func TestClosingRemovesTheSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "control")
	d, err := socket.Open(socket.Options{Dir: dir, ID: "fs", Inbox: inboxtest.New("fs")})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	d.Close()
	if _, err := os.Lstat(d.Path()); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestLongNamesFindAPlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 90))
	one, other := strings.Repeat("x", 64), strings.Repeat("x", 63)+"y"
	if runtime.GOOS == "windows" {
		t.Skip("there is no shorter place here")
	}
	var a, b *socket.Server
	t.Cleanup(func() { // after both are closed
		for _, d := range []*socket.Server{a, b} {
			if _, err := os.Lstat(d.Path()); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", d.Path(), err)
			}
		}
	})
	a, b = inboxtest.New(one).Open(t, dir), inboxtest.New(other).Open(t, dir)
	if a.Path() == b.Path() {
		t.Errorf("both are %s", a.Path())
	}
	dial(t, a.Path())
	dial(t, b.Path())
	got := map[string]bool{}
	for _, c := range all(t, dir) {
		got[c.Known.ID] = true
	}
	if !got[one] || !got[other] {
		t.Errorf("found %v", got)
	}
}

func all(t *testing.T, dir string) []*socket.Client {
	t.Helper()
	all, err := socket.All(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func dial(t *testing.T, path string) *socket.Client {
	t.Helper()
	c, err := socket.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Ids that are alike for as long as a socket's name may be have a socket each, and a door that
// was closed gives its name back.
func TestLongIdsHaveASocketEachAndGiveItBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	alike := strings.Repeat("a", 24)
	paths := map[string]string{}
	for range 2 { // the second time the same names are free again
		var doors []*socket.Server
		for _, id := range []string{alike, alike + "b", alike + "c", alike[:23]} {
			d, err := socket.Open(socket.Options{Dir: dir, ID: id, Inbox: inboxtest.New("x")})
			if err != nil {
				t.Fatal(err)
			}
			doors = append(doors, d)
			for other, path := range paths {
				if (other == id) != (path == d.Path()) {
					t.Errorf("%s is at %s, and %s at %s", id, d.Path(), other, path)
				}
			}
			paths[id] = d.Path()
			if strings.HasSuffix(d.Path(), "~2.sock") {
				t.Errorf("%s is taken for the second of its id: %s", id, d.Path())
			}
		}
		for _, d := range doors {
			d.Close()
			if _, err := os.Stat(d.Path()); err == nil {
				t.Errorf("%s is still there", d.Path())
			}
		}
	}
}
