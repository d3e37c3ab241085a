package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
)

// A way is one of those by which programs reach an inbox.
type way struct {
	http   *http.Client
	base   string
	header http.Header
}

// send returns the answer to a request, for the caller to close.
func (w way) send(t *testing.T, method, path, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = w.header.Clone()
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	got, err := w.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func bySocket(t *testing.T, h *inboxtest.Hall) way {
	path := h.Open(t, filepath.Join(t.TempDir(), "c")).Path()
	var d net.Dialer
	return way{&http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", path)
	}}}, "http://bridge", http.Header{}}
}

func byPage(t *testing.T, in inbox.Inbox) way {
	b := within(t, serve(t, source(in, "notes")))
	return way{&b.http, b.base + "/api/notes", http.Header{"Sec-Fetch-Site": {"same-origin"}}}
}

// changing is what no two runs have in common.
var changing = regexp.MustCompile(`\b([0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{8})\b|\d{4}-\d\d-\d\d[T ][0-9:.+Z-]+|"pid":\d+|"frozen_ms":\d+`)

// talk is what all may be asked for, and the answers.
func talk(t *testing.T, h *inboxtest.Hall, w way) string {
	var said strings.Builder
	do := func(method, path, body string) {
		got := w.send(t, method, path, body)
		defer got.Body.Close()
		all, err := io.ReadAll(got.Body)
		fmt.Fprintln(&said, method, path, body, got.StatusCode, got.Header.Get("Content-Type"), got.Header.Get("Cache-Control"), string(all), err)
	}
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	v, _ := h.Question(id)
	answer := func(digest, result string) string { return fmt.Sprintf(`{"digest":%q,"result":%s}`, digest, result) }
	for _, path := range []string{"/status", "/questions", "/questions?args=true", "/questions/" + id, "/questions/ffff", "/grants"} {
		do("GET", path, "")
	}
	for _, body := range []string{answer(strings.Repeat("0", 64), `{"action":"decline"}`), `{"digest":"x"}`, `{"Digest":"x"}`, "[", answer(v.Digest, `{"action":"accept","content":{"approve":true}}`), answer(v.Digest, `{"action":"decline"}`)} {
		do("POST", "/questions/"+id+"/answer", body)
	}
	do("DELETE", "/grants/none", "")
	do("POST", "/halt", `{"reason":"mad agents"}`)
	do("GET", "/status", "")
	do("POST", "/resume", `{"reason":"mended"}`)
	do("POST", "/resume", `{"why":"mended"}`)
	stream := w.send(t, "GET", "/watch", "")
	defer stream.Body.Close()
	fmt.Fprintln(&said, stream.StatusCode, stream.Header.Get("Content-Type"))
	h.Withdraw(h.Ask(inboxtest.Write(`{"path":"/b"}`)))
	for lines := bufio.NewScanner(stream.Body); lines.Scan() && !strings.Contains(lines.Text(), "closed"); {
		fmt.Fprintln(&said, lines.Text())
	}
	return changing.ReplaceAllString(said.String(), "…")
}

// What programs hear by the socket and by the page is the same, word by word.
func TestThePageAnswersProgramsAsTheSocketDoes(t *testing.T) {
	one, other := inboxtest.New("notes"), inboxtest.New("notes")
	socket, page := talk(t, one, bySocket(t, one)), talk(t, other, byPage(t, other))
	for _, part := range []string{`"tool":"write_file"`, `"outcome":"allowed"`, `"reason":"already_decided"`, `"reason":"digest_mismatch"`, `"halted":{`, `{"revoked":false}`, `data: {"event":"asked"`} {
		if !strings.Contains(socket, part) {
			t.Errorf("no %s in\n%s", part, socket)
		}
	}
	if socket != page {
		t.Errorf("by the socket\n%s\nby the page\n%s", socket, page)
	}
}

// Whoever may only look, and whoever sees the public view, does so by the page too.
func TestThePageShowsProgramsNoMoreThanItsInbox(t *testing.T) {
	h := inboxtest.New("notes")
	h.Command = "/secret/notes-server"
	id := h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	v, _ := h.Question(id)
	yes := `{"digest":"` + v.Digest + `","result":{"action":"accept","content":{"approve":true}}}`
	public := byPage(t, inbox.Public(h))
	for _, path := range []string{"/questions?args=true", "/questions/" + id, "/status", "/grants"} {
		got := public.send(t, "GET", path, "")
		body, _ := io.ReadAll(got.Body)
		if got.Body.Close(); got.StatusCode != http.StatusOK || strings.Contains(string(body), "secret") {
			t.Errorf("%s: %d %s", path, got.StatusCode, body)
		}
	}
	looks := byPage(t, inbox.LookOnly(h))
	nobody := looks
	nobody.base = strings.Replace(looks.base, "/notes", "/none", 1)
	for _, c := range []struct {
		by         way
		path, body string
		want       int
	}{
		{public, "/halt", `{"reason":"x"}`, http.StatusNotFound},
		{looks, "/questions/" + id + "/answer", yes, http.StatusConflict},
		{looks, "/resume", `{"reason":"x"}`, http.StatusConflict},
		{nobody, "/halt", `{"reason":"x"}`, http.StatusNotFound},
	} {
		got := c.by.send(t, "POST", c.path, c.body)
		if got.Body.Close(); got.StatusCode != c.want {
			t.Errorf("%s: %d", c.path, got.StatusCode)
		}
	}
	undecided(t, h, id)
}
