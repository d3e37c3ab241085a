package web_test

import (
	"bufio"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
)

// Passkeys need the page by the name localhost, which has two addresses, of which browsers try
// [::1] first: where the page is not, another user of this machine could be.
func TestAnotherUserAtTheOtherAddressOfLocalhost(t *testing.T) {
	held(t, "0")
	h := inboxtest.New("notes")
	h.Enrolling(t.TempDir())
	id := h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	v, _ := h.Question(id)
	src := source(h, "notes")
	src.Keys = h
	s := serve(t, src)
	b := within(t, s)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(originOf(b.base), "http://"))
	cmd := programOf(t, 65534, "TEST_THIEF_AT="+port, "TEST_THIEF_ANSWERS=/q/notes/"+id+" do=allow&digest="+v.Digest)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() })
	said := bufio.NewScanner(out)
	if said.Scan(); strings.HasPrefix(said.Text(), "refused: ") {
		return
	}
	t.Error("another user can be where the page says that it is")
	link := regexp.MustCompile(`href="http://localhost:[0-9]+(/[^"]*/in/[^"]*)"`).FindStringSubmatch(b.post("/localhost", nil).body)
	if link == nil {
		t.Fatal("no link")
	}
	http.Get("http://[::1]:" + port + link[1]) // as Chromium does for localhost
	defer func() {
		if _, open := h.Question(id); !open {
			t.Error("the question is decided")
		}
	}()
	for said.Scan() {
		t.Error("the thief: " + said.Text())
	}
}

// Another user who has got hold of a link has nothing, and it works still for whom it is for.
func TestALinkLetsNoOtherUserIn(t *testing.T) {
	s := serve(t, source(inboxtest.New("notes"), "notes"))
	b := newBrowser(t, s)
	link := strings.TrimPrefix(s.Link(), b.base)
	if said := asUser(t, 65534, b.base, "a=b POST "+link+"  "+aForm); !strings.HasPrefix(said, "403 ") || !strings.Contains(said, "another user") {
		t.Error("another user gets " + said)
	}
	if got := b.post(link, nil); got.status != http.StatusSeeOther {
		t.Errorf("its own user: %d %s", got.status, got.body)
	}
}

// Who takes all places for other users at one address of the page has none left at the other.
func TestTheAddressesOfThePageHaveTheirPlacesTogether(t *testing.T) {
	held(t, "0")
	s := serve(t, source(inboxtest.New("notes"), "notes"))
	crowdAt(t, "127.0.0.1:"+portOf(s))
	for range 50 { // the page may still be letting the crowd in
		knock := programOf(t, 65534, "TEST_KNOCK_AT=http://[::1]:"+portOf(s), "TEST_KNOCK_WITH=a=b GET /static/inbox.css  "+aForm)
		if knock.Run() != nil {
			return
		}
	}
	t.Error("there are places of its own at the other address")
}
