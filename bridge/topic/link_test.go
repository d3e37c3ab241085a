package topic

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// padded is a frame of n bytes from bob, in mcp-x/v0.
func padded(id string, n int) string {
	frame := fmt.Sprintf(`{"protocol":"mcp-x/v0","id":"%s","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"`, id)
	const end = `"}}}}`
	return frame + strings.Repeat("a", n-len(frame)-len(end)) + end
}

// TestSizes sends frames of every form of header, up to 8 MiB, both ways.
func TestSizes(t *testing.T) {
	g := &script{play: func(_ int, p *player) {
		p.say(welcomeD0)
		for f := p.hear(); f != ""; f = p.hear() {
			p.say(f)
		}
	}}
	s := sit(t, Options{URL: g.real(t)})
	s.want("taken")
	for _, n := range []int{250, 65535, 65536, 16 << 10, 16<<10 + 1, 1 << 20, 8 << 20, maxFrame} {
		if err := s.Send(wire.Reply, []byte(padded("n", n))); err != nil {
			t.Fatal(err)
		}
		s.Flush()
		s.want("got mcp n")
	}
}

// TestFraming reads our frames with gorilla and expects the bytes that were
// put, for lengths around each limit of the header.
func TestFraming(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 125, 126, 127, 65535, 65536, 1 << 20} {
		want := bytes.Repeat([]byte("mask!"), n/5+1)[:n]
		heard := make(chan []byte, 1)
		g := &script{play: func(_ int, p *player) {
			_, f, _ := p.ReadMessage()
			heard <- f
		}}
		conn, err := Dial(t.Context(), Options{URL: g.real(t), Topic: "t1", ID: "fs"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Put(bytes.Clone(want)); err != nil {
			t.Fatal(err)
		}
		conn.Flush()
		if got := <-heard; !bytes.Equal(got, want) {
			t.Errorf("%d bytes: arrived as %d others", n, len(got))
		}
		for err == nil {
			_, err = conn.Read()
		}
		conn.Close(1000, "")
	}
}

// TestTooLarge: one over-long frame, of whoever it may be, costs that frame
// and not the seat.
func TestTooLarge(t *testing.T) {
	g := &script{play: func(_ int, p *player) {
		p.say(welcomeD0, padded("exact", maxFrame), padded("over", maxFrame+1), fmt.Sprintf(listD0, "after"))
		p.stay()
	}}
	s := sit(t, Options{URL: g.real(t)})
	s.want("taken", "got mcp exact", "refused message_too_large", "got mcp after")
	if err := s.Send(wire.Reply, make([]byte, maxFrame+1)); err != ErrTooLarge {
		t.Errorf("Send: %v", err)
	}
}

// TestBlockedGateway: one that reads nothing any more. Send must say so and
// never wait; after 10 s without progress the link is given up.
func TestBlockedGateway(t *testing.T) {
	release := make(chan struct{})
	g := &script{play: func(n int, p *player) {
		p.say(welcomeD0)
		if n == 1 {
			<-release
		}
	}}
	s := sit(t, Options{URL: g.real(t)})
	defer close(release)
	s.want("taken")
	var err error
	var frame []byte
	for range 20 {
		frame = make([]byte, 8<<20)
		if err = s.Send(wire.Reply, frame); err != nil {
			break
		}
		s.Flush()
	}
	if !errors.Is(err, outbox.ErrFull) {
		t.Errorf("Send: %v, want ErrFull", err)
	}
	if !bytes.Equal(frame, make([]byte, 8<<20)) {
		t.Error("a frame that was not taken came back masked")
	}
}

// TestPong: the gateway's ping is answered although nobody sends anything.
func TestPong(t *testing.T) {
	ponged := make(chan struct{})
	g := &script{play: func(_ int, p *player) {
		p.SetPongHandler(func(string) error { close(ponged); return nil })
		p.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Minute))
		p.say(welcomeD0)
		p.stay()
	}}
	conn, err := Dial(t.Context(), Options{URL: g.real(t), Topic: "t1", ID: "fs"}, "")
	if err != nil {
		t.Fatal(err)
	}
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		for err == nil {
			_, err = conn.Read()
		}
	}()
	<-ponged
	conn.Close(1000, "")
	<-reading
	conn.Close(1000, "")
}

func TestStuckGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &script{play: func(n int, p *player) {
			p.say(welcomeD0)
			for range 30 { // talks, so that pings do not end it
				time.Sleep(time.Second)
				p.say(joinD0)
			}
		}}
		s := sit(t, g.bubble(t, Options{}))
		s.want("taken")
		s.Send(wire.Reply, []byte(padded("x", 100<<10)))
		s.Flush()
		n := s.next()
		for ; strings.HasPrefix(n.what, "got presence"); n = s.next() {
		}
		if !strings.HasPrefix(n.what, "lost write to the gateway: "+outbox.ErrStuck.Error()) || n.at > writeDeadline+time.Second {
			t.Errorf("%v: %s", n.at, n.what)
		}
	})
}

// serverFrame is a text frame as a gateway writes it.
func serverFrame(text string) []byte {
	frame := []byte{0x81, 126, 0, 0}
	binary.BigEndian.PutUint16(frame[2:], uint16(len(text)))
	return append(frame, text...)
}

// TestIdle: TopicIdle is called when all that came has been handed on and
// before the reader blocks, so that answers leave together.
func TestIdle(t *testing.T) {
	g := &script{play: func(_ int, p *player) {
		p.say(welcomeD0)
		p.hear()
		burst := bytes.Join([][]byte{
			serverFrame(fmt.Sprintf(listD0, "e1")), serverFrame(fmt.Sprintf(listD0, "e2")), serverFrame(fmt.Sprintf(listD0, "e3")),
		}, nil)
		p.NetConn().Write(burst)
		p.hear() // sent by TopicIdle alone
		p.say(fmt.Sprintf(listD0, "e4"))
		p.stay()
	}}
	var s *sitting
	ready := make(chan struct{})
	s = sitIdle(t, Options{URL: g.real(t)}, func() {
		<-ready
		s.note("idle")
		s.Send(wire.Reply, []byte(`{}`))
	})
	close(ready)
	var order []string
	for n := s.next(); !strings.HasSuffix(n.what, "e4"); n = s.next() {
		order = append(order, n.what)
	}
	if all := strings.Join(order, ", "); !strings.Contains(all, "got mcp e1, got mcp e2, got mcp e3, idle") {
		t.Errorf("the order was %s", all)
	}
}

// A tally counts the writes of all connections together. It hides their descriptors, so
// that these can be counted.
type tally struct {
	net.Conn
	writes *atomic.Int32
}

func (c tally) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// TestManySendsFewWrites: what is sent before a Flush leaves in one piece.
func TestManySendsFewWrites(t *testing.T) {
	all := make(chan struct{})
	g := &script{play: func(_ int, p *player) {
		p.say(welcomeD2("mew/v0.4"))
		for range 1000 {
			p.hear()
		}
		close(all)
		p.stay()
	}}
	var writes atomic.Int32 // the seat's questions to the gateway over HTTP among them
	s := sit(t, Options{URL: g.real(t), NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return tally{conn, &writes}, err
	}})
	s.want("taken")
	before := writes.Load()
	for range 1000 {
		if err := s.Send(wire.Reply, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	s.Flush()
	<-all
	if n := writes.Load() - before; n > 20 {
		t.Errorf("%d writes for 1000 frames", n)
	}
}

// TestTLS: wss, with a private authority.
func TestTLS(t *testing.T) {
	g := &script{t: t, play: func(_ int, p *player) {
		p.say(welcomeD0)
		for f := p.hear(); f != ""; f = p.hear() {
			p.say(f)
		}
	}}
	srv := httptest.NewTLSServer(g)
	defer func() { srv.Close(); g.online.Wait() }()
	ca := srv.Client().Transport.(interface{ CloseIdleConnections() })
	defer ca.CloseIdleConnections()
	roots := tlsRoots(srv)
	s := sit(t, Options{URL: "wss" + strings.TrimPrefix(srv.URL, "https"), TLS: &tls.Config{RootCAs: roots}})
	s.want("taken mcp-x/v0 fs")
	s.Send(wire.Reply, []byte(padded("big", 1<<20)))
	s.Flush()
	s.want("got mcp big")
	s.stop()
	<-s.ended
	s.ended <- nil

	_, err := Dial(t.Context(), Options{URL: "wss" + strings.TrimPrefix(srv.URL, "https"), Topic: "t1", ID: "fs"}, "")
	if err == nil {
		t.Error("a certificate that nobody vouches for was taken")
	}
}

// TestTrace: the trace shows every frame, and no token.
func TestTrace(t *testing.T) {
	type traced struct{ dir, frame string }
	seen := make(chan traced, 100)
	g := &script{play: func(_ int, p *player) {
		p.hear()
		p.say(welcomeD2("mew/v0.4"),
			`{"protocol":"mew/v0.4","id":"i","from":"bob","to":["fs"],"kind":"space/invite-ack","payload":{"status":"ok","token" : "other\"secret","connection_url":"ws://x/?token=s3cret"}}`)
		p.stay()
	}}
	s := sit(t, Options{URL: g.real(t), Token: token("s3cret"), Trace: func(dir string, frame []byte) { seen <- traced{dir, string(frame)} }})
	s.want("taken", "got space/invite-ack")
	s.Send(wire.Own, []byte(`{"mine":"s3cret"}`))
	s.Flush()
	for _, want := range []traced{{"send", "system/join"}, {"recv", "system/welcome"}, {"recv", "invite-ack"}, {"send", `{"mine":"[redacted]"}`}} {
		got := <-seen
		if got.dir != want.dir || !strings.Contains(got.frame, want.frame) {
			t.Errorf("traced %v, want %v", got, want)
		}
		if strings.Contains(got.frame, "s3cret") || strings.Contains(got.frame, `other\"secret`) {
			t.Errorf("a token in the trace: %s", got.frame)
		}
	}
}

// A pair is a Conn in this process, as a gateway's own seat is.
type pair struct {
	frames chan []byte // to the seat
	heard  chan string // from the seat
	ended  chan error
}

func newPair() *pair {
	return &pair{frames: make(chan []byte, 10), heard: make(chan string, 10), ended: make(chan error, 10)}
}

func (p *pair) Read() ([]byte, error) {
	select {
	case f := <-p.frames:
		return f, nil
	case err := <-p.ended:
		p.ended <- err
		return nil, err
	}
}
func (p *pair) Put(frame []byte) error { p.heard <- string(frame); return nil }
func (p *pair) Flush()                 {}
func (p *pair) Close(code int, reason string) error {
	p.ended <- &websocket.CloseError{Code: code, Text: reason}
	return nil
}

// TestDialHook: with a Conn from elsewhere the seat still waits for a welcome,
// joins a silent gateway, and comes back; and asks the network for nothing.
func TestDialHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conns := make(chan *pair, 3)
		fails := 3
		s := sit(t, Options{Pace: 5, Dial: func(context.Context) (Conn, error) {
			if fails--; fails >= 0 {
				return nil, errors.New("not yet")
			}
			c := newPair()
			conns <- c
			return c, nil
		}})
		first := <-conns
		first.frames <- []byte(welcomeD1)
		s.want("taken mcpx/v0.1 fs")
		for range 10 {
			if err := s.Send(wire.Notice, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := len(first.heard); n != 10 {
			t.Errorf("%d of 10 frames went out: a seat in this process must not be paced", n)
		}
		first.ended <- errors.New("the gateway is closed")
		s.want("lost the gateway is closed")

		second := <-conns
		checkJoin(t, <-second.heard)
		second.frames <- []byte(welcomeD2("mew/v0.4"))
		s.want("taken mew/v0.4 fs")
		s.quiet(time.Hour)
	})
}

// TestTheLastWordSurvivesABrokenWrite: a gateway says why it ends and goes, and we
// learn first that it takes nothing any more. What it said counts all the same: here
// that the next dial needs a fresh token.
func TestTheLastWordSurvivesABrokenWrite(t *testing.T) {
	g := &script{play: func(_ int, p *player) {
		p.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4401, "expired"), time.Time{})
	}}
	conn, err := Dial(t.Context(), Options{URL: g.real(t), Topic: "t1", ID: "fs"}, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(1000, "") })
	l := conn.(*link)
	for broken := false; !broken; runtime.Gosched() {
		conn.Put([]byte("x"))
		conn.Flush()
		l.mu.Lock()
		broken = l.cause != nil
		l.mu.Unlock()
	}
	_, err = conn.Read()
	if c, ok := errors.AsType[*wire.CloseError](err); !ok || c.Code != 4401 {
		t.Errorf("the link ended with %v, want what the gateway said", err)
	}
}
