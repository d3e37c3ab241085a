package gateway_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// pipes is a listener whose connections are in memory, so that a test with
// them runs on its own clock.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours, nil
}

// bubble runs f against a gateway in a bubble with its own time.
func bubble(t *testing.T, f func(t *testing.T, dial func(path, token string) *websocket.Conn, h *house)) {
	synctest.Test(t, func(t *testing.T) {
		g, err := gateway.New(gateway.Options{Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		s := g.Server()
		served := make(chan error)
		go func() { served <- s.Serve(l) }()
		defer func() {
			g.Close()
			s.Close()
			<-served
		}()
		dialer := websocket.Dialer{NetDialContext: l.dial}
		f(t, func(path, token string) *websocket.Conn {
			header := http.Header{}
			if token != "" {
				header.Set("Authorization", "Bearer "+token)
			}
			ws, _, err := dialer.Dial("ws://localhost"+path, header)
			if err != nil {
				t.Fatal(err)
			}
			return ws
		}, &house{Gateway: g, t: t})
	})
}

// readAll reads to the end, for a day at most, and returns how the gateway closed.
func readAll(t *testing.T, ws *websocket.Conn) *websocket.CloseError {
	t.Helper()
	defer ws.Close()
	ws.SetReadDeadline(time.Now().Add(24 * time.Hour))
	for {
		_, _, err := ws.ReadMessage()
		if c, ok := err.(*websocket.CloseError); ok {
			return c
		}
		if err != nil {
			t.Fatalf("waited for the gateway to close the session: %v", err)
		}
	}
}

// A participant that answers pings may be silent for ever; one that does not
// is let go after 75 seconds.
func TestKeepAlive(t *testing.T) {
	bubble(t, func(t *testing.T, dial func(string, string) *websocket.Conn, h *house) {
		start := time.Now()
		quiet, dead := dial("/ws?topic=t", h.mint("quiet", "t")), dial("/ws?topic=t", h.mint("dead", "t"))
		var pings []time.Duration
		answer := quiet.PingHandler()
		quiet.SetPingHandler(func(data string) error {
			pings = append(pings, time.Since(start))
			return answer(data)
		})
		ended := make(chan *websocket.CloseError)
		go func() { ended <- readAll(t, quiet) }()
		dead.SetPingHandler(func(string) error { return nil })
		if c := readAll(t, dead); c.Code != 1001 || time.Since(start) != 75*time.Second {
			t.Errorf("dead was closed with %v after %v", c, time.Since(start))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		h.Gateway.Close()
		if c := <-ended; c.Code != 1001 || c.Text != "the gateway is stopping" {
			t.Errorf("quiet was closed with %v", c)
		}
		if len(pings) != 122 || pings[0] != 30*time.Second || pings[1] != time.Minute {
			t.Errorf("%d pings, the first at %v", len(pings), pings[:min(2, len(pings))])
		}
	})
}

// Who does not join within ten seconds is sent away, also one that keeps
// trickling bytes.
func TestJoinInTime(t *testing.T) {
	bubble(t, func(t *testing.T, dial func(string, string) *websocket.Conn, h *house) {
		start := time.Now()
		silent, slow := dial("/?space=t", ""), dial("/?space=t", "")
		var trickle sync.WaitGroup
		defer trickle.Wait()
		trickle.Go(func() {
			for _, b := range []byte(masked(0x81, `{"type":"join"}`)) {
				if _, err := slow.NetConn().Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		ended := make(chan *websocket.CloseError)
		go func() { ended <- readAll(t, slow) }()
		for _, c := range []*websocket.CloseError{readAll(t, silent), <-ended} {
			if c.Code != 1008 || time.Since(start) != 10*time.Second {
				t.Errorf("closed with %v after %v", c, time.Since(start))
			}
		}
	})
}

// A token is good until it expires, and so is what it opened, whether its
// bearer is silent or never stops talking.
func TestASessionEndsWithItsToken(t *testing.T) {
	bubble(t, func(t *testing.T, dial func(string, string) *websocket.Conn, h *house) {
		start := time.Now()
		mint := func(id string, lasts time.Duration) string {
			token, err := h.Mint(gateway.Claims{ID: id, Topic: "t", Expires: start.Add(lasts)})
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		stays := dial("/ws?topic=t", h.mint("stays", "t"))
		ended := make(chan *websocket.CloseError)
		go func() { ended <- readAll(t, stays) }()
		if c := readAll(t, dial("/ws?topic=t", mint("silent", 5*time.Second))); c.Code != 1008 || c.Text != "the token has expired" || time.Since(start) != 5*time.Second {
			t.Errorf("silent was closed with %v after %v", c, time.Since(start))
		}
		talks := dial("/ws?topic=t", mint("talks", 90*time.Second))
		go func() {
			for talks.WriteMessage(websocket.TextMessage, []byte(`{"protocol":"mcpx/v0.1","id":"c","from":"talks","kind":"chat","payload":{"text":"x"}}`)) == nil {
				time.Sleep(700 * time.Millisecond)
			}
		}()
		if c := readAll(t, talks); c.Code != 1008 || time.Since(start).Round(time.Second) != 90*time.Second {
			t.Errorf("talks was closed with %v after %v", c, time.Since(start))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		h.Gateway.Close()
		if c := <-ended; c.Code != 1001 {
			t.Errorf("stays was closed with %v", c)
		}
	})
}
