package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// What the gateway says to one bearer no cache keeps for another, no browser takes it for
// a page, and who has no token is told how one is shown.
func TestEveryReplyIsForItsReaderAlone(t *testing.T) {
	h := open(t, gateway.Options{})
	token := h.mint("ann", "t")
	for _, c := range []struct {
		path, token string
		status      int
		challenge   string
	}{
		{"/health", "", 200, ""},
		{"/v0.1/topics", token, 200, ""},
		{"/v0/topics/t/participants", token, 200, ""},
		{"/v0.1/topics/t/history", token, 200, ""},
		{"/v0.1/topics/u/history", token, 403, ""},
		{"/v0.1/topics", "", 401, "Bearer"},
		{"/v0.1/topics/t/history", "x", 401, "Bearer"},
		{"/nowhere", token, 404, ""},
	} {
		r, err := http.NewRequest("GET", h.http+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Type": "application/json", "WWW-Authenticate": c.challenge} {
			if got := resp.Header.Get(name); got != want || resp.StatusCode != c.status {
				t.Errorf("%s: %d, %s: %q, want %d and %q", c.path, resp.StatusCode, name, got, c.status, want)
			}
		}
	}
}

// A challenge has 1 to 128 bytes; a longer one is answered as if it were none.
func TestAChallengeIsAnsweredUpToItsBound(t *testing.T) {
	h := open(t, gateway.Options{})
	for n, proven := range map[int]bool{0: false, 1: true, 128: true, 129: false, 256: false} {
		status, body := h.get("GET", "/health?challenge="+strings.Repeat("c", n), "", nil, "")
		if status != 200 || strings.Contains(body, `"proof"`) != proven {
			t.Errorf("a challenge of %d bytes: %d %s", n, status, body)
		}
	}
}

// A list without entries is an empty list, no null: whoever reads it goes through it.
func TestAListOfTopicsWithoutAnyIsAnEmptyList(t *testing.T) {
	h := open(t, gateway.Options{})
	token := h.mint("ann", "t")
	for path, want := range map[string]string{
		"/v0/topics": `{"topics":[]}`, "/v0.1/topics": `{"topics":[]}`, "/v0.1/topics/t/participants": `{"participants":[]}`,
		"/v0.1/topics/t/history": `{"history":[]}`, "/participants?space=t": `{"participants":[]}`,
	} {
		if status, body := h.get("GET", path, token, nil, ""); status != 200 || strings.TrimSpace(body) != want {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
}
