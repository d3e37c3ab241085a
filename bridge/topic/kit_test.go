package topic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Frames as gateways send them. The fixture is that of WIRE 11: we are fs, the
// topic is t1.
const (
	joinD0    = `{"protocol":"mcp-x/v0","id":"p","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"presence","payload":{"event":"join","participant":{"id":"fs"}}}`
	welcomeD0 = `{"protocol":"mcp-x/v0","id":"w","ts":"2026-01-01T00:00:00Z","from":"system:gateway","to":["fs"],"kind":"system","payload":{"type":"welcome","participant_id":"fs","topic":"t1","participants":[{"id":"bob"}],"history":[]}}`
	joinD1    = `{"protocol":"mcpx/v0.1","id":"p","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"join","participant":{"id":"fs","capabilities":["mcp/*","chat"]}}}`
	welcomeD1 = `{"protocol":"mcpx/v0.1","id":"w","ts":"2026-01-01T00:00:00Z","from":"system:gateway","to":["fs"],"kind":"system/welcome","payload":{"you":{"id":"fs","capabilities":["mcp/*","chat"]},"participants":[]}}`
	listD0    = `{"protocol":"mcp-x/v0","id":"%s","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}`
	listD2    = `{"protocol":"mew/v0.4","id":"%s","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request","payload":{"method":"tools/list"}}`
)

func welcomeD2(protocol string) string {
	return `{"protocol":"` + protocol + `","id":"w","ts":"2026-01-01T00:00:00Z","from":"system:gateway","to":["fs"],"kind":"system/welcome","payload":{"you":{"id":"fs","capabilities":[{"kind":"mcp/*"}]},"participants":[]}}`
}

// A script is a gateway: what it does with each WebSocket, and which paths and
// endpoints it has. Its fields are set before it serves.
type script struct {
	t     *testing.T
	paths []string                    // upgraded; none means any
	rest  map[string]http.HandlerFunc // other endpoints
	door  func(r *http.Request) int   // status to refuse an upgrade with; 0 lets in
	play  func(visit int, p *player)  // one WebSocket; it is cut when play returns

	mu     sync.Mutex
	visits int
	asked  []string // path?query of every request
	open   int      // WebSockets that are open
	most   int      // … at a time
	online sync.WaitGroup
}

func (g *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.asked = append(g.asked, r.URL.RequestURI())
	g.mu.Unlock()
	if h := g.rest[r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	if !websocket.IsWebSocketUpgrade(r) {
		http.NotFound(w, r)
		return
	}
	if len(g.paths) > 0 && !slices.Contains(g.paths, r.URL.Path) {
		http.Error(w, "no such place", http.StatusBadRequest)
		return
	}
	if g.door != nil {
		if status := g.door(r); status != 0 {
			http.Error(w, "refused", status)
			return
		}
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	g.serve(&player{Conn: ws, t: g.t, r: r})
}

func (g *script) serve(p *player) {
	g.online.Add(1)
	defer g.online.Done()
	g.mu.Lock()
	g.visits++
	visit := g.visits
	g.open++
	g.most = max(g.most, g.open)
	g.mu.Unlock()
	defer func() {
		p.Close()
		g.mu.Lock()
		g.open--
		g.mu.Unlock()
	}()
	g.play(visit, p)
}

func (g *script) requests() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.asked...)
}

// A player is the gateway's end of one WebSocket.
type player struct {
	*websocket.Conn
	t *testing.T
	r *http.Request
}

func (p *player) say(frames ...string) {
	for _, f := range frames {
		if p.WriteMessage(websocket.TextMessage, []byte(f)) != nil {
			return
		}
	}
}

// hear returns the next frame, "" when there will be none.
func (p *player) hear() string {
	_, f, err := p.ReadMessage()
	if err != nil {
		return ""
	}
	return string(f)
}

// stay reads until the other side goes.
func (p *player) stay() {
	for {
		if _, _, err := p.ReadMessage(); err != nil {
			return
		}
	}
}

// listen reads, and so answers pings, for a while.
func (p *player) listen(d time.Duration) {
	p.SetReadDeadline(time.Now().Add(d))
	p.stay()
}

// end closes as a gateway does and waits for the answer.
func (p *player) end(code int, reason string) {
	p.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(time.Minute))
	p.stay()
}

// real serves a script on loopback and returns its ws URL.
func (g *script) real(t *testing.T) string {
	g.t = t
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.on(t, l)
	return "ws://" + l.Addr().String()
}

func (g *script) on(t *testing.T, l net.Listener) {
	srv := &http.Server{Handler: g}
	var serving sync.WaitGroup
	serving.Go(func() { srv.Serve(l) })
	t.Cleanup(func() {
		srv.Close()
		serving.Wait()
		g.online.Wait()
	})
}

// bubble serves a script on pipes, for time that is not real, and completes
// the options of a seat at it.
func (g *script) bubble(t *testing.T, o Options) Options {
	g.t = t
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	g.on(t, l)
	o.URL, o.NetDial = "ws://localhost", l.dial
	return o
}

// pipes is a listener whose connections are net.Pipes.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A sitting is a running seat with a Handler that writes down what it hears.
type sitting struct {
	*Seat
	t     *testing.T
	start time.Time
	stop  context.CancelFunc
	ended chan error
	notes chan note
	idle  func() // called by TopicIdle

	mu     sync.Mutex
	last   wire.Welcome
	speaks wire.Dialect
}

// A note is one call of the Handler.
type note struct {
	what string
	at   time.Duration // since the start
}

// sit runs a seat until the test ends. ID and Topic are those of the fixture.
func sit(t *testing.T, o Options) *sitting {
	t.Helper()
	return sitIdle(t, o, nil)
}

// sitIdle is sit with something to do in TopicIdle.
func sitIdle(t *testing.T, o Options, idle func()) *sitting {
	t.Helper()
	if o.ID == "" {
		o.ID = "fs"
	}
	if o.Topic == "" {
		o.Topic = "t1"
	}
	seat, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &sitting{
		Seat: seat, t: t, start: time.Now(), stop: stop,
		ended: make(chan error, 1), notes: make(chan note, 1<<16), idle: idle,
	}
	go func() { s.ended <- seat.Run(ctx, s) }()
	t.Cleanup(func() {
		stop()
		select {
		case <-s.ended:
		case <-time.After(time.Minute):
			t.Error("Run does not end")
		}
	})
	return s
}

func (s *sitting) note(format string, a ...any) {
	s.notes <- note{fmt.Sprintf(format, a...), time.Since(s.start)}
}

func (s *sitting) SeatTaken(d wire.Dialect, w wire.Welcome) {
	s.mu.Lock()
	s.last, s.speaks = w, d
	s.mu.Unlock()
	s.note("taken %s %s", d.Protocol, w.You.ID)
}
func (s *sitting) SeatLost(err error)        { s.note("lost %v", err) }
func (s *sitting) Received(e *wire.Envelope) { s.note("got %s %s", e.Spelled, e.ID) }
func (s *sitting) Refused(r *wire.Refused)   { s.note("refused %s", r.Reason) }
func (s *sitting) TopicIdle() {
	if s.idle != nil {
		s.idle()
	}
	s.Flush()
}

// next returns the next note, for which it waits a day in a bubble, where the
// clock starts in 2000, and half a minute elsewhere.
func (s *sitting) next() note {
	s.t.Helper()
	wait := 30 * time.Second
	if s.start.Year() < 2020 {
		wait = 24 * time.Hour
	}
	select {
	case n := <-s.notes:
		return n
	case err := <-s.ended:
		s.ended <- err
		s.t.Fatalf("Run ended with %v", err)
	case <-time.After(wait):
		s.t.Fatal("nothing more happens")
	}
	panic("not reached")
}

// want expects the next notes to begin so, and returns the last.
func (s *sitting) want(begin ...string) (n note) {
	s.t.Helper()
	for _, b := range begin {
		if n = s.next(); !strings.HasPrefix(n.what, b) {
			s.t.Fatalf("%v: %q, want %q", n.at, n.what, b)
		}
	}
	return n
}

// quiet expects no further note in a time that is not real.
func (s *sitting) quiet(d time.Duration) {
	s.t.Helper()
	time.Sleep(d)
	select {
	case n := <-s.notes:
		s.t.Fatalf("%v: %q, want silence", n.at, n.what)
	default:
	}
}

// fatal expects Run to end with an exit code.
func (s *sitting) fatal(exit int) *FatalError {
	s.t.Helper()
	err := <-s.ended
	s.ended <- err
	f, ok := errors.AsType[*FatalError](err)
	if !ok || f.Exit != exit {
		s.t.Fatalf("Run ended with %#v, want exit %d", err, exit)
	}
	return f
}

func reply(w http.ResponseWriter, body string) { io.WriteString(w, body) }

func answers(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, body) }
}
