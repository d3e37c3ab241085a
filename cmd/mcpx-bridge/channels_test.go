package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// channelSecret is the secret of every channel of a test.
const channelSecret = "s3cret/of+the channels"

// A misbehaved server answers each request in the way that its path says, and tells when it was
// asked.
type misbehaved struct {
	url, host string
	asked     chan string
	sentOn    atomic.Int32 // requests that came to where another server had sent them
}

func newMisbehaved(t *testing.T) *misbehaved {
	m := &misbehaved{asked: make(chan string, 1024)}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { m.sentOn.Add(1) }))
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		way, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		defer func() { m.asked <- way }()
		switch way {
		case "hangs":
			m.asked <- way
			select {
			case <-over:
			case <-r.Context().Done():
			}
		case "pours":
			for lot := bytes.Repeat([]byte("x"), 1<<16); r.Context().Err() == nil; {
				if _, err := w.Write(lot); err != nil {
					return
				}
			}
		case "repeats":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, "%s %v %s", r.RequestURI, r.Header, body)
		case "elsewhere":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "garbles":
			fmt.Fprintf(w, `{"ok":true,"result":[7,{"update_id":"%s"},null,{}],"url":"http://127.0.0.1:1/%s"}`, r.URL.Path, r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(func() { close(over); s.Close(); elsewhere.Close() })
	m.url, m.host = s.URL, strings.TrimPrefix(s.URL, "http://")
	return m
}

// nobodySpeaks takes connections and says nothing.
func nobodySpeaks(t *testing.T) (at string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	return l.Addr().String()
}

// Channels that hang, repeat, garble, never end or send us elsewhere are in no call's way, and what
// is secret of them is nowhere that the bridge writes.
func TestNoChannelIsInTheWayOrShowsItsSecret(t *testing.T) {
	m, dir := newMisbehaved(t), t.TempDir()
	t.Setenv("CHANNEL_SECRET", channelSecret)
	var rules strings.Builder
	rules.WriteString("version: 1\ndefault: ask\nasks: {default: {of: [local], within: 60s}}\nnotify:\n")
	n := 0
	for _, way := range []string{"hangs", "pours", "repeats", "elsewhere", "garbles"} {
		for _, of := range []string{
			"webhook: 'URL/x', secret: '${CHANNEL_SECRET}'", "ntfy: 'URL/topic', token: '${CHANNEL_SECRET}'",
			"slack: C1, token: '${CHANNEL_SECRET}', app_token: '${CHANNEL_SECRET}', api: 'URL', trust: answers, people: {U1: ann}, for: local",
			"telegram: 7, token: '${CHANNEL_SECRET}', api: 'URL', trust: answers, people: {7: ann}, for: local",
		} {
			n++
			fmt.Fprintf(&rules, "  c%d: {%s}\n", n, strings.ReplaceAll(of, "URL", m.url+"/"+way))
		}
	}
	fmt.Fprintf(&rules, "  post: {mail: a@example.com, from: b@example.com, server: '%s', user: u, password: '${CHANNEL_SECRET}', after: 1ms}\n", nobodySpeaks(t))
	rules.WriteString("  cmd: {command: 'cat >/dev/null; exit 3'}\n")
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	home := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state")}
	s := launch{raw: true, env: home, flags: []string{"run", "--json", "--listen", "127.0.0.1:0", "--id", "fs", "--policy", file, "--"},
		server: stdiotest.Command(t, stdiotest.Script{Record: filepath.Join(dir, "given")})}.start(t, "")
	c := s.visit(s.ready())
	for i := range 3 {
		call := launch{raw: true, env: home, flags: []string{"call", "--id", "bob", "fs", "write_file", fmt.Sprint("path=/", i), "text=x"}}.start(t, "")
		id := s.await(`{"event":"asked","from":"bob"}`)["question"].(string)
		for hung := false; i == 0 && !hung; {
			hung = <-m.asked == "hangs"
		}
		v, err := c.Show(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Allow: true})); err != nil {
			t.Fatal(err)
		}
		if code := call.wait(); code != 0 {
			t.Errorf("the call ended with %d: %s", code, call.about())
		}
	}
	for n := 0; strings.Count(s.stderr.text(), "(notify) fails") < 12; n++ { // all that answer
		if n > 20 {
			t.Fatalf("not all that fail are said: %s", s.stderr.text())
		}
		s.stderr.wait(time.Second) // for a line; one may have come before we waited
	}
	s.finish()
	if n := m.sentOn.Load(); n > 0 {
		t.Errorf("%d requests were sent on", n)
	}
	all := []string{s.events.text(), s.stderr.text(), everyFile(t, filepath.Join(dir, "state"))}
	for _, form := range []string{channelSecret, "s3cret%2Fof", "s3cret/of", "s3cret"} {
		for _, said := range all {
			if i := strings.Index(said, form); i >= 0 {
				t.Fatalf("%s is shown in: %s", form, said[max(0, i-300):min(len(said), i+100)])
			}
		}
	}
}

// everyFile is all that stands in the files of a directory.
func everyFile(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil || all.Len() == 0 {
		t.Fatalf("%v: %d bytes", err, all.Len())
	}
	return all.String()
}
