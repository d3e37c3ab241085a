package web_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
)

// A browser gives its cookies to every port of this machine, also to that of another user, who
// may lead it there.
func TestACookieIsNothingToAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	s := serve(t, source(inboxtest.New("notes"), "notes"))
	b := newBrowser(t, s)
	cookie, _, _ := strings.Cut(b.post(strings.TrimPrefix(s.Link(), b.base), nil).header.Get("Set-Cookie"), ";")
	dir, err := os.MkdirTemp("", "cookie")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "knock")
	if err := os.WriteFile(self, program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]string{0: "200", 65534: "403"} {
		knock := exec.Command(self)
		knock.Dir = "/"
		knock.Env = []string{"TEST_KNOCK_AT=" + s.Address(), "TEST_KNOCK_WITH=" + cookie, "GORACE=atexit_sleep_ms=0"}
		knock.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if out, err := knock.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("user %d with the cookie: %s %v, not %s", uid, out, err, want)
		}
	}
}
