package web_test

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/web"
)

// held is somebody else's port at the other address of localhost.
func held(t *testing.T, port string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort("::1", port))
	if err != nil {
		t.Skipf("NOT CHECKED: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// besideAnother opens the own page of a bridge at a port that somebody else has at the other address.
func besideAnother(t *testing.T, src *web.Source) *web.Server {
	t.Helper()
	var err error
	for range 10 { // a port that is free at one address may be taken at the other
		var s *web.Server
		if s, err = web.Open(web.Options{Listen: "127.0.0.1:" + held(t, "0"), Only: src}); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

func portOf(s *web.Server) string {
	at, _ := url.Parse(s.Address())
	return at.Port()
}

func TestThePageIsAtBothAddressesOfLocalhost(t *testing.T) {
	held(t, "0")
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0"} {
		s, err := web.Open(web.Options{Listen: address, Find: only(nil)})
		if err != nil {
			t.Fatal(err)
		}
		serving(t, s)
		for _, host := range []string{"127.0.0.1", "::1"} {
			b := newBrowser(t, s)
			b.base = strings.Replace(b.base, originOf(b.base), "http://"+net.JoinHostPort(host, portOf(s)), 1)
			_, link, _ := strings.Cut(s.Link(), "/in/")
			if got := b.post("/in/"+link, nil); got.status != http.StatusSeeOther || b.get("/").status != http.StatusOK {
				t.Errorf("%s at %s: %d", address, host, got.status)
			}
		}
	}
}

// Where any port will do, it is one that nobody else has at either address.
func TestThePageGoesToAPortThatIsFreeAtBothAddresses(t *testing.T) {
	held(t, "7421")
	s, err := web.Open(web.Options{Find: only(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if portOf(s) == "7421" {
		t.Error("it is at " + s.Address())
	}
	if l, err := net.Listen("tcp", net.JoinHostPort("::1", portOf(s))); err == nil {
		l.Close()
		t.Error("somebody else may be at the other address")
	}
}

// Passkeys need the name localhost. Where that leads to somebody else too, nobody is sent there, and
// no passkey is asked for anything; all else works.
func TestNobodyIsSentToALocalhostThatSomebodyElseHas(t *testing.T) {
	h, v := asksForAPasskey(t)
	id := v.ID
	src := source(h, "notes")
	src.Keys = h
	s := besideAnother(t, src)
	serving(t, s)
	b := within(t, s)
	why := "localhost, and that is [::1]:" + portOf(s) + " too, where somebody else may be"
	byName := host("localhost:" + portOf(s))
	b.post(strings.TrimPrefix(s.Link(), b.base), nil, byName)
	for what, got := range map[string]answer{
		"409 the way there":          b.post("/localhost", nil),
		"200 the passkeys":           b.get("/passkeys"),
		"200 the passkeys by name":   b.get("/passkeys", byName),
		"200 the question":           b.get("/q/notes/" + id),
		"200 the question by name":   b.get("/q/notes/"+id, byName),
		"409 what is to be signed":   b.post("/sign/notes/"+id, url.Values{"digest": {v.Digest}, "do": {"allow"}}, byName),
		"409 what a passkey is for":  b.post("/passkeys/challenge", url.Values{"bridge": {"notes"}}, byName),
		"409 a passkey that is made": b.post("/passkeys", url.Values{"bridge": {"notes"}, "made": {"{}"}}, byName),
	} {
		for _, not := range []string{"http://localhost", "Go there", `id="enrol"`, `value="allow"`} {
			if strings.Contains(got.body, not) {
				t.Errorf("%s has %s:\n%s", what, not, got.body)
			}
		}
		if !strings.Contains(got.body, why) || !strings.HasPrefix(what, strconv.Itoa(got.status)) {
			t.Errorf("%s: %d\n%s", what, got.status, got.body)
		}
	}
	if got := b.post("/q/notes/"+id, form(t, b.get("/q/notes/"+id).body, "deny")); got.status != http.StatusSeeOther {
		t.Errorf("a no: %d", got.status)
	}
}

// Who is not let in to the own page of a bridge reads that inbox leads to another, and how one gets
// to this one.
func TestWhoIsShutOutOfTheOwnPageOfABridgeReadsHowOneGetsIn(t *testing.T) {
	h := inboxtest.New("notes")
	src := source(h, "notes")
	src.Keys = h
	own, err := web.Open(web.Options{Listen: "127.0.0.1:0", Only: src})
	if err != nil {
		t.Fatal(err)
	}
	serving(t, own)
	for s, want := range map[*web.Server]string{own: "to another page, where all is answered but a yes that takes a passkey", serve(t, source(h, "notes")): "prints a new link"} {
		b := newBrowser(t, s)
		for _, path := range []string{"/", "/in/used"} {
			if got := b.get(path); !strings.Contains(got.body, want) {
				t.Errorf("%s: no %q in\n%s", path, want, got.body)
			}
		}
	}
}
