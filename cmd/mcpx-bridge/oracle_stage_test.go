package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gorilla/websocket"
)

// A stage is a gateway that plays what a case says: a real WebSocket server on
// loopback, without any judgement of its own. Every frame it gets is held
// against the rules for envelopes (WIRE 6.3) before the case sees it.
type stage struct {
	t    *testing.T
	d    tongue
	url  string
	me   string // whom the gateway takes the bridge for
	side *sidecar

	dialled chan *session
	at      *session // the connection that the case plays on
	seen    map[string]bool
	names   names
	count   int // of frames sent by quiet

	ghost    atomic.Bool // the participants' list leaves the bridge out
	refuse   atomic.Int64
	upgrades atomic.Int64
	loose    bool // answers may hold what only a server may say
}

// A session is one connection of the bridge.
type session struct {
	ws     *websocket.Conn
	frames chan string
	pongs  chan string
	ended  error // why reading ended; read after frames is closed
}

// openStage listens; nobody has come yet.
func openStage(t *testing.T, d tongue) *stage {
	g := &stage{t: t, d: d, me: "fs", dialled: make(chan *session, 64), seen: map[string]bool{}, names: names{}}
	server := httptest.NewServer(g)
	g.url = "ws" + strings.TrimPrefix(server.URL, "http")
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if g.at != nil {
			g.at.ws.Close()
		}
	})
	return g
}

// ServeHTTP is what the reference gateway of the dialect shows of itself.
func (g *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status := int(g.refuse.Load()); status != 0 {
		http.Error(w, "refused by the test", status)
		return
	}
	if !websocket.IsWebSocketUpgrade(r) {
		g.rest(w, r)
		return
	}
	if g.d.path != "" && r.URL.Path != g.d.path {
		http.Error(w, "no such path", http.StatusBadRequest)
		return
	}
	g.upgrades.Add(1)
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	s := &session{ws: ws, frames: make(chan string, 1<<16), pongs: make(chan string, 16)}
	ws.SetPongHandler(func(text string) error { s.pongs <- text; return nil })
	go s.read()
	g.dialled <- s
}

func (g *stage) rest(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/participants"):
		who := g.me
		if g.ghost.Load() {
			who = "somebody-else"
		}
		fmt.Fprintf(w, `{"participants":[%s]}`, g.d.participant(who))
	case r.URL.Path == "/health":
		fmt.Fprint(w, `{"status":"ok"}`)
	default:
		http.NotFound(w, r)
	}
}

func (s *session) read() {
	defer close(s.frames)
	for {
		_, frame, err := s.ws.ReadMessage()
		if err != nil {
			s.ended = err
			return
		}
		s.frames <- string(frame)
	}
}

// accept waits for the bridge to connect. It says nothing to it yet.
func (g *stage) accept() {
	g.t.Helper()
	select {
	case g.at = <-g.dialled:
	case <-time.After(patience):
		g.fail("the bridge does not connect")
	}
}

// greet welcomes the bridge as the dialect's reference gateway does: in the
// older dialects it sees itself join first.
func (g *stage) greet(peers ...string) {
	g.t.Helper()
	if !g.d.list {
		g.send(g.d.presence("join-of-me", "join", g.me))
	}
	g.send(g.d.welcome(g.me, "", peers...))
}

// send puts a frame on the wire as it is.
func (g *stage) send(frame string) {
	g.t.Helper()
	if err := g.at.ws.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		g.fail("the bridge does not take %s: %v", cut(frame), err)
	}
}

// request sends a request of somebody to the bridge.
func (g *stage) request(env, from, payload string) {
	g.t.Helper()
	g.send(g.d.request(env, from, g.me, payload))
}

// next is the next frame of the bridge, whatever it is.
func (g *stage) next() string {
	g.t.Helper()
	select {
	case frame, ok := <-g.at.frames:
		if !ok {
			g.fail("the bridge is gone: %v", g.at.ended)
		}
		g.proper(frame)
		if strings.Contains(frame, `"method":"notifications/mcpx/checkpoint"`) {
			return g.next() // it comes when so much is on record, whatever the case is
		}
		return frame
	case <-time.After(patience):
		g.fail("the bridge says nothing")
	}
	return ""
}

// expect is the next frame, which must match.
func (g *stage) expect(pattern string) string {
	g.t.Helper()
	frame := g.next()
	if why := g.names.mismatch(pattern, frame); why != "" {
		g.fail("%s\nwant %s\n got %s", why, pattern, cut(frame))
	}
	return frame
}

// expectAll is for frames that may come in any order.
func (g *stage) expectAll(patterns ...string) {
	g.t.Helper()
	for len(patterns) > 0 {
		frame, found := g.next(), -1
		for i, p := range patterns {
			if g.names.mismatch(p, frame) == "" {
				found = i
			}
		}
		if found < 0 {
			g.fail("%s\nis none of\n%s", cut(frame), strings.Join(patterns, "\n"))
		}
		patterns = append(patterns[:found], patterns[found+1:]...)
	}
}

// quiet shows that the bridge has nothing more to say. It sends a request that
// goes all the way to the server and back, behind everything sent before: what
// those frames brought about comes before its answer, and nothing may.
func (g *stage) quiet() {
	g.t.Helper()
	g.expect(g.probe())
}

// settle lets everything pass that comes before the answer to a probe.
func (g *stage) settle() (passed []string) {
	g.t.Helper()
	answer := g.probe()
	for {
		frame := g.next()
		if g.names.mismatch(answer, frame) == "" {
			return passed
		}
		passed = append(passed, frame)
	}
}

// probe sends the request of quiet and returns the pattern of its answer.
func (g *stage) probe() string {
	g.t.Helper()
	g.count++
	env := fmt.Sprintf("probe-%d", g.count)
	g.request(env, "prober", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, g.count))
	return g.d.reply("prober", env, "tools/list", "", fmt.Sprintf(`{"id":%d}`, g.count))
}

// pong waits until the bridge has read everything sent so far, without its
// having to say anything: a WebSocket ping is answered in order.
func (g *stage) pong() {
	g.t.Helper()
	g.count++
	text := fmt.Sprint(g.count)
	if err := g.at.ws.WriteControl(websocket.PingMessage, []byte(text), time.Now().Add(patience)); err != nil {
		g.fail("the bridge takes no ping: %v", err)
	}
	for {
		select {
		case got := <-g.at.pongs:
			if got == text {
				return
			}
		case <-time.After(patience):
			g.fail("the bridge answers no ping")
		}
	}
}

// waiting are the frames that have come and were not looked at.
func (g *stage) waiting() (frames []string) {
	for {
		select {
		case frame, ok := <-g.at.frames:
			if !ok {
				return frames
			}
			frames = append(frames, frame)
		default:
			return frames
		}
	}
}

// hangUp ends the connection with a close frame.
func (g *stage) hangUp(code int, reason string) {
	g.t.Helper()
	text := websocket.FormatCloseMessage(code, reason)
	if err := g.at.ws.WriteControl(websocket.CloseMessage, text, time.Now().Add(patience)); err != nil {
		g.fail("the bridge takes no close: %v", err)
	}
	g.gone()
}

// drop ends the connection without a word (1006).
func (g *stage) drop() {
	g.at.ws.NetConn().Close()
	g.gone()
}

// gone waits for the end of the connection; what came before is lost.
func (g *stage) gone() {
	g.t.Helper()
	late := time.After(patience)
	for {
		select {
		case _, ok := <-g.at.frames:
			if !ok {
				g.at.ws.Close()
				return
			}
		case <-late:
			g.fail("the bridge does not let go of the connection")
		}
	}
}

// proper holds a frame against the rules that all frames keep: one strict JSON
// object; the session's protocol; a fresh id; a time; the id we gave it as
// sender; recipients and links in the dialect's form, absent rather than empty
// (WIRE W-7, W-8).
func (g *stage) proper(frame string) {
	g.t.Helper()
	if !g.loose && !jsontext.Value(frame).IsValid() {
		g.fail("this is not strict JSON: %s", cut(frame))
	}
	v, err := decoded(frame)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		g.fail("this is no envelope: %s", cut(frame))
	}
	id, _ := m["id"].(string)
	ts, _ := m["ts"].(string)
	_, badTime := time.Parse(time.RFC3339Nano, ts)
	switch {
	case m["protocol"] != g.d.protocol:
		g.fail("protocol should be %s: %s", g.d.protocol, cut(frame))
	case id == "" || g.seen[id]:
		g.fail("the envelope's id is empty or was used before: %s", cut(frame))
	case badTime != nil:
		g.fail("ts is no time: %s", cut(frame))
	case m["from"] != g.me:
		g.fail("from should be %s: %s", g.me, cut(frame))
	}
	g.seen[id] = true
	if to, there := m["to"]; there && !texts(to) {
		g.fail("to should be absent or a list of ids: %s", cut(frame))
	}
	if link, there := m["correlation_id"]; there {
		text, one := link.(string)
		if g.d.list && !texts(link) || !g.d.list && (!one || text == "") {
			g.fail("correlation_id has not this dialect's form: %s", cut(frame))
		}
	}
}

func texts(v any) bool {
	list, ok := v.([]any)
	for _, e := range list {
		if s, isText := e.(string); !isText || s == "" {
			return false
		}
	}
	return ok && len(list) > 0
}

// fail ends the test with all that is known.
func (g *stage) fail(format string, a ...any) {
	g.t.Helper()
	about := ""
	if g.side != nil {
		about = g.side.about()
	}
	g.t.Fatalf(format+"\n%s", append(a, about)...)
}
