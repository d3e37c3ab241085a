package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

func TestMain(m *testing.M) {
	watchdog.Start()
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for something that is due at once.
const patience = 20 * time.Second

var secret = []byte("0123456789abcdef0123456789abcdef")

// A house is a gateway behind a real listener.
type house struct {
	*gateway.Gateway
	t    testing.TB
	http string
	log  *logbook
}

// A logbook is what the gateway logged.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func open(t testing.TB, o gateway.Options) *house {
	t.Helper()
	h := &house{t: t, log: &logbook{}}
	o.Secret = secret
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if keepElsewhere {
		e := keptElsewhere(t)
		o.Topics, o.Presence = e, e
	}
	var err error
	if h.Gateway, err = gateway.New(o); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config = h.Gateway.Server()
	s.Start()
	h.http = s.URL
	t.Cleanup(func() { h.Gateway.Close(); s.Close(); http.DefaultClient.CloseIdleConnections() })
	return h
}

func (h *house) ws(path string) string { return "ws" + strings.TrimPrefix(h.http, "http") + path }

func (h *house) mint(id, topic string, caps ...string) string {
	h.t.Helper()
	c := gateway.Claims{ID: id, Topic: topic}
	if len(caps) > 0 {
		c.Capabilities = json.RawMessage(caps[0])
	}
	token, err := h.Mint(c)
	if err != nil {
		h.t.Fatal(err)
	}
	return token
}

// A guest is a participant over a plain gorilla client.
type guest struct {
	t    testing.TB
	ws   *websocket.Conn
	d    wire.Dialect
	id   string
	seen []string // frames read so far
}

// protocols are all dialects, by the name of their protocol.
var protocols = []string{"mcp-x/v0", "mcpx/v0.1", "meup/v0.2", "mew/v0.3", "mew/v0.4"}

func dialect(t testing.TB, protocol string) wire.Dialect {
	d, ok := wire.Lookup(protocol)
	if !ok {
		t.Fatalf("no dialect %s", protocol)
	}
	return d
}

// join takes a seat in topic "t" and reads the welcome.
func (h *house) join(protocol, id string, caps ...string) *guest {
	h.t.Helper()
	g := h.knock(protocol, id, h.mint(id, "t", caps...))
	g.kind(wire.Greeting)
	return g
}

// knock connects, and joins where that is up to the client.
func (h *house) knock(protocol, id, token string) *guest {
	h.t.Helper()
	return h.knockAt("t", protocol, id, token)
}

func (h *house) knockAt(topic, protocol, id, token string) *guest {
	h.t.Helper()
	path, header := "/ws?topic="+topic, http.Header{"Authorization": {"Bearer " + token}}
	switch {
	case protocol == "mcp-x/v0":
		path = "/v0/ws?topic=" + topic
	case strings.HasPrefix(protocol, "me"):
		path, header = "/?space="+topic, nil
	}
	g := h.dial(path, header)
	g.id, g.d = id, dialect(h.t, protocol)
	if header == nil {
		g.send(`{"protocol":"` + protocol + `","kind":"system/join","id":"j","payload":{"participantId":"` + id + `","space":"` + topic + `","token":"` + token + `"}}`)
	}
	return g
}

func (h *house) dial(path string, header http.Header) *guest {
	h.t.Helper()
	ws, resp, err := websocket.DefaultDialer.Dial(h.ws(path), header)
	if err != nil {
		status := ""
		if resp != nil {
			status = resp.Status
		}
		h.t.Fatalf("dial %s: %v %s", path, err, status)
	}
	h.t.Cleanup(func() { ws.Close() })
	return &guest{t: h.t, ws: ws}
}

func (g *guest) send(frame string) {
	g.t.Helper()
	if err := g.ws.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		g.t.Fatalf("%s: send: %v", g.id, err)
	}
}

func (g *guest) next() (string, error) {
	g.ws.SetReadDeadline(time.Now().Add(patience))
	_, frame, err := g.ws.ReadMessage()
	g.seen = append(g.seen, string(frame))
	return string(frame), err
}

// read returns the next frame.
func (g *guest) read() string {
	g.t.Helper()
	frame, err := g.next()
	if err != nil {
		g.t.Fatalf("%s: read: %v", g.id, err)
	}
	return frame
}

// until reads until a frame contains text.
func (g *guest) until(text string) string {
	g.t.Helper()
	for {
		if frame := g.read(); strings.Contains(frame, text) {
			return frame
		}
	}
}

// find returns the frame that contains text, read already or not.
func (g *guest) find(text string) string {
	g.t.Helper()
	for _, frame := range g.seen {
		if strings.Contains(frame, text) {
			return frame
		}
	}
	return g.until(text)
}

// kind reads until a frame of that kind comes.
func (g *guest) kind(k wire.Kind) *wire.Envelope {
	g.t.Helper()
	for {
		frame := g.read()
		e, err := g.d.Decode([]byte(frame))
		if err != nil {
			g.t.Fatalf("%s: %v: %.300s", g.id, err, frame)
		}
		if e.Kind == k {
			return &e
		}
	}
}

// closed reads to the end and returns how the gateway closed.
func (g *guest) closed() *websocket.CloseError {
	g.t.Helper()
	for {
		_, err := g.next()
		if c, ok := err.(*websocket.CloseError); ok {
			return c
		}
		if err != nil {
			g.t.Fatalf("%s: ended with %v, want a close frame", g.id, err)
		}
	}
}

// mark makes everything said before it arrive: it returns once to has read a
// frame that g sent after all others.
func (g *guest) mark(to *guest) {
	g.t.Helper()
	id := fmt.Sprintf("mark-%d", time.Now().UnixNano())
	g.send(say(g.d.Protocol, id, g.id, "", kindOf(g.d.Protocol, "notifications/mark"), `{"jsonrpc":"2.0","method":"notifications/mark"}`))
	to.until(id)
}

// say writes a frame. to is empty, or a list as it stands in JSON.
func say(protocol, id, from, to, kind, payload string, more ...string) string {
	var s strings.Builder
	s.WriteString(`{"protocol":"` + protocol + `","id":"` + id + `","ts":"2026-01-02T03:04:05Z","from":"` + from + `",`)
	if to != "" {
		s.WriteString(`"to":` + to + `,`)
	}
	for _, m := range more {
		s.WriteString(m + `,`)
	}
	return s.String() + `"kind":"` + kind + `","payload":` + payload + `}`
}

// kindOf is how a dialect calls a request or notification of a method.
func kindOf(protocol, method string) string {
	switch protocol {
	case "mcp-x/v0":
		return "mcp"
	case "mcpx/v0.1":
		return "mcp/request:" + method
	}
	return "mcp/request"
}

// get makes a request and returns status and body.
func (h *house) get(method, path, token string, header http.Header, body string) (int, string) {
	h.t.Helper()
	u, err := url.Parse(h.http + path)
	if err != nil {
		h.t.Fatal(err)
	}
	r := &http.Request{Method: method, URL: u, Header: http.Header{}, Body: http.NoBody}
	if body != "" {
		r = httptest.NewRequest(method, u.String(), strings.NewReader(body))
		r.RequestURI = ""
	}
	maps.Copy(r.Header, header)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Host = header.Get("Host")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	b.ReadFrom(resp.Body)
	return resp.StatusCode, b.String()
}
