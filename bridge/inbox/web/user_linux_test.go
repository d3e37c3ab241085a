package web_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
)

// asUser has a program of a user knock at a page, and returns what it gets.
func asUser(t *testing.T, uid uint32, base string, with ...string) string {
	t.Helper()
	out, err := programOf(t, uid, "TEST_KNOCK_AT="+base, "TEST_KNOCK_WITH="+strings.Join(with, "\n")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// programOf is this program, to be run by a user.
func programOf(t *testing.T, uid uint32, env ...string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	dir, err := os.MkdirTemp("", "knock")
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
	cmd := exec.Command(self)
	cmd.Dir = "/"
	cmd.Env = append(env, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd
}

// crowdAt has another user take all the places at an address that they get, until the test ends.
func crowdAt(t *testing.T, address string) {
	t.Helper()
	cmd := programOf(t, 65534, "TEST_CROWD_AT="+address)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if said := bufio.NewScanner(out); !said.Scan() {
		t.Fatal("there is no crowd")
	}
}

// Another user may open as many connections as there are places, and keep them.
func TestAnotherUserShutsNobodyOut(t *testing.T) {
	s := serve(t, source(inboxtest.New("notes"), "notes"))
	b := within(t, s)
	crowdAt(t, strings.TrimPrefix(originOf(b.base), "http://"))
	for range 3 {
		if got := b.get("/"); got.status != 200 {
			t.Errorf("%d", got.status)
		}
	}
}

// A browser gives its cookies to every port of this machine, also to that of another user, who
// may lead it there.
func TestACookieIsNothingToAnotherUser(t *testing.T) {
	s := serve(t, source(inboxtest.New("notes"), "notes"))
	b := newBrowser(t, s)
	cookie, _, _ := strings.Cut(b.post(strings.TrimPrefix(s.Link(), b.base), nil).header.Get("Set-Cookie"), ";")
	for uid, want := range map[uint32]string{0: "200 ", 65534: "403 "} {
		if said := asUser(t, uid, b.base, cookie+" GET /  "+aForm); !strings.HasPrefix(said, want) {
			t.Errorf("user %d with the cookie: %s, not %s", uid, said, want)
		}
	}
}

// Another user reaches the port, and may know all of a question and the name of the cookie, or all
// of a cookie.
func TestAnotherUserGetsNothingAndDecidesNothing(t *testing.T) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	v, _ := h.Question(id)
	s := serve(t, source(h, "notes"))
	b := newBrowser(t, s)
	stolen, _, _ := strings.Cut(b.post(strings.TrimPrefix(s.Link(), b.base), nil).header.Get("Set-Cookie"), ";")
	name, _, _ := strings.Cut(stolen, "=")
	var all []string
	for _, cookie := range []string{"a=b", name + "=x", stolen} {
		for _, what := range []string{"GET /  " + aForm, "GET /q/notes/" + id + "  " + aForm, "GET /history  " + aForm, "GET /events  " + aForm, "GET /api/notes/questions  " + aJSON,
			"POST /q/notes/" + id + " do=allow&digest=" + v.Digest + " " + aForm,
			"POST /api/notes/questions/" + id + `/answer {"digest":"` + v.Digest + `","result":{"action":"accept","content":{"approve":true}}} ` + aJSON,
			"POST /bridges bridge=notes&do=halt&reason=x " + aForm, `POST /api/notes/halt {"reason":"x"} ` + aJSON, "POST /out  " + aForm} {
			all = append(all, cookie+" "+what)
		}
	}
	said := asUser(t, 65534, b.base, all...)
	if strings.Count(said, "403 <!DOCTYPE html>") != len(all) || strings.Contains(said, "secret") || strings.Contains(said, "agent-a") {
		t.Errorf("it gets\n%s", said)
	}
	undecided(t, h, id)
	if halted(t, h) != nil || b.get("/").status != 200 {
		t.Error("it halts the bridge, or signs somebody out")
	}
}
