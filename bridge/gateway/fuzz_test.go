package gateway_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// goodClaims end when nobody fuzzes any more, so that the token is the same in
// every run.
var goodClaims = jwt.MapClaims{"participantId": "ann", "topic": "t", "exp": 4102444800, "iat": 1767225600}

func goodToken(t testing.TB) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, goodClaims).SignedString(secret)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// What opens a door was signed here: of all that is like a good token, only one
// with the very bytes that were signed.
func FuzzToken(f *testing.F) {
	g, good := bare(f), goodToken(f)
	signed := good[:strings.LastIndexByte(good, '.')]
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, goodClaims).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		f.Fatal(err)
	}
	for _, token := range []string{good, signed, signed + ".", none, good + ".", good + "=", " " + good, good + ", Bearer " + good, "eyJhbGciOiJIUzI1NiIsImNyaXQiOlsiYjY0Il0sImI2NCI6ZmFsc2V9..x", ".."} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		status := ask(g, &http.Request{Method: "GET", URL: &url.URL{Path: "/v0.1/topics/t/participants"}, Header: http.Header{"Authorization": {"Bearer " + token}}})
		if status == http.StatusOK && !strings.HasPrefix(strings.TrimSpace(token), signed+".") || status != http.StatusOK && status != http.StatusUnauthorized {
			t.Errorf("%q: status %d", token, status)
		}
	})
}

// Whatever is asked of the endpoints, the gateway answers, and it is never its
// own fault. Without a token nothing of a topic is seen.
func FuzzREST(f *testing.F) {
	g, token := bare(f), goodToken(f)
	for _, target := range []string{"/v0.1/topics/t/participants", "/v0.1/topics/t/history?limit=-1&before=x", "/v0/topics/%2e%2e/history", "/participants?space=t&space=u", "/health", "/metrics",
		"/v0.1/auth/token", "/v0.1/topics", "//", "/ws?topic=%00", "/v0.1/topics/t/history?limit=99999999999999999999"} {
		f.Add("GET", target, "", true)
		f.Add("POST", target, `{"participantId":"x","topic":"t","topic":"u"}`, false)
	}
	f.Fuzz(func(t *testing.T, method, target, body string, known bool) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" {
			return // no server would let it come this far
		}
		r := &http.Request{Method: method, URL: u, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
		if known {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		status := ask(g, r)
		if status >= 500 || status < 200 {
			t.Errorf("%s %s %q: status %d", method, target, body, status)
		}
		if secluded := strings.Contains(u.Path, "history") || strings.Contains(u.Path, "participants"); secluded && !known && status == http.StatusOK {
			t.Errorf("%s %s shows something to anybody", method, target)
		}
	})
}

// bare is a gateway without a listener.
func bare(t testing.TB) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(gateway.Options{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func ask(g *gateway.Gateway, r *http.Request) int {
	r.Host, r.Proto, r.ProtoMajor, r.ProtoMinor, r.RemoteAddr, r.RequestURI = "127.0.0.1:1", "HTTP/1.1", 1, 1, "127.0.0.1:2", r.URL.RequestURI()
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w.Code
}

// Whatever bytes come behind an upgrade, others go on as if nothing were, and
// hear nothing that was not said by whom it names.
func FuzzSocket(f *testing.F) {
	const text, cont, clos, ping = 0x81, 0x80, 0x88, 0x89
	chat := say("mcpx/v0.1", "e", "mallory", "", "chat", `{"text":"x"}`)
	for _, raw := range []string{
		masked(text, chat), masked(text, say("mcpx/v0.1", "e", "bob", "", "chat", `{"text":"x"}`)), masked(0x01, chat[:20]) + masked(ping, "p") + masked(cont, chat[20:]),
		masked(clos, "\x03\xe8bye"), masked(clos, "\x00"), "\x81\x05hello", "\xc1\x80\x00\x00\x00\x00", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x89\xfe\x00\x7e", masked(0x82, "\x00"), masked(text, "\xff"), "GET / HTTP/1.1\r\n\r\n",
	} {
		f.Add([]byte(raw))
	}
	h := open(f, gateway.Options{Log: slog.New(slog.DiscardHandler)})
	ann, bob := h.join("mcpx/v0.1", "ann"), h.join("mcpx/v0.1", "bob")
	f.Fuzz(func(t *testing.T, raw []byte) {
		here := house{Gateway: h.Gateway, t: t, http: h.http, log: h.log}
		ann.t, bob.t = t, t
		conn, r := here.rawJoin("mallory")
		defer conn.Close()
		conn.Write(raw) // it may be cut short
		conn.(*net.TCPConn).CloseWrite()
		if _, err := io.Copy(io.Discard, r); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%q: the gateway does not let go", raw)
		}
		bob.send(say("mcpx/v0.1", "after", "bob", "", "chat", `{"text":"after"}`))
		for {
			frame := ann.read()
			e, err := ann.d.Decode([]byte(frame))
			if err != nil {
				t.Fatalf("%q becomes %s: %v", raw, frame, err)
			}
			switch {
			case e.From == "bob" && e.ID == "after":
				return
			case e.From != "mallory" && e.From != "system:gateway":
				t.Fatalf("%q becomes %s", raw, frame)
			}
		}
	})
}
