package socket_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
)

// Even a socket that somebody has opened up hears its own user only.
func TestOtherUsersAreTurnedAway(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := inboxtest.New("fs").Open(t, filepath.Join(dir, "c"))
	for _, name := range []string{dir, filepath.Dir(d.Path()), d.Path()} {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	self := filepath.Join(dir, "knock")
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(self, program, 0o755); err != nil {
		t.Fatal(err)
	}
	knock := exec.Command(self)
	knock.Dir = "/"
	knock.Env = []string{"TEST_KNOCK_AT=" + d.Path(), "GORACE=atexit_sleep_ms=0"}
	knock.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := knock.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "another user") && !strings.Contains(string(out), "hung up") {
		t.Errorf("it was let in: %s", out)
	}
	dial(t, d.Path()) // we are
}
