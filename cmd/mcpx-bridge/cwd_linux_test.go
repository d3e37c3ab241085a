package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A link that is moved while the server is up does not have it restarted elsewhere:
// what people have agreed to for long is bound to where it was started.
func TestAServerIsRestartedWhereItWasStarted(t *testing.T) {
	here, there, link := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "current")
	if err := os.Symlink(here, link); err != nil {
		t.Fatal(err)
	}
	g := openStage(t, d1)
	s := launch{flags: []string{"--cwd", link}}.start(t, g.url)
	g.side = s
	g.accept()
	g.greet("bob")
	s.ready()
	first := int(s.await(`{"event":"server_up"}`)["server_pid"].(float64))
	if err := os.Rename(movedTo(t, there), link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := int(s.await(`{"event":"server_up"}`)["server_pid"].(float64))
	in, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", second))
	if want, _ := filepath.EvalSymlinks(here); err != nil || in != want || second == first {
		t.Errorf("process %d was started again as %d in %s, want %s (%v)", first, second, in, want, err)
	}
}

// movedTo is another link, which can be renamed over the first.
func movedTo(t *testing.T, dir string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "next")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	return link
}
