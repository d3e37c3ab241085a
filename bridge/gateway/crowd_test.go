package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// call opens a connection to the gateway and says text on it.
func (h *house) call(text string) net.Conn {
	h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.http, "http://"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	io.WriteString(conn, text)
	return conn
}

// ended waits until the gateway has closed a connection.
func ended(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("%v: it was not closed", conn.LocalAddr())
	}
}

// However many connect and say nothing, or stop in the middle of a word, there is room for
// who has a token, and nobody who has a seat loses it (FINDINGS M8).
func TestThoseWithoutATokenKeepNobodyOut(t *testing.T) {
	for name, o := range map[string]gateway.Options{
		"in all":          {MaxUnseated: 8, MaxFromAddress: -1},
		"by address":      {MaxFromAddress: 8},
		"of all that are": {MaxConns: 12},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, o)
			seated := h.join("mcpx/v0.1", "seated")
			upgrade := "GET /?space=t HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
			var idle []net.Conn
			for i := range 60 {
				idle = append(idle, h.call([]string{"", "GET /he", "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", upgrade, "POST /v0/auth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"}[i%5]))
			}
			for _, conn := range idle[:40] {
				ended(t, conn)
			}
			late := h.join("mew/v0.4", "late")
			late.mark(seated)
			seated.mark(late)
			_, body := h.get("GET", "/metrics", "", nil, "")
			if !strings.Contains(body, `refused_total{reason="crowded"} `) {
				t.Errorf("nothing of it in the metrics:\n%s", body)
			}
		})
	}
}

// Where all connections that there may be have seats, one more is closed, and the next one
// gets in when somebody has left.
func TestSeatsAreNotGivenUpForACrowd(t *testing.T) {
	h := open(t, gateway.Options{MaxConns: 2})
	ann, bob := h.join("mcpx/v0.1", "ann"), h.join("mcpx/v0.1", "bob")
	ended(t, h.call(""))
	ann.mark(bob)
	ann.ws.Close()
	bob.until(`"leave"`)
	for { // the descriptor is given back a moment after the seat
		ws, _, err := websocket.DefaultDialer.Dial(h.ws("/ws?topic=t"), http.Header{"Authorization": {"Bearer " + h.mint("carol", "t")}})
		if err == nil {
			ws.Close()
			return
		}
	}
}

// What a client without a seat may take for each step, on a clock of its own.
func TestNobodyWithoutASeatStaysForEver(t *testing.T) {
	for name, c := range map[string]struct {
		say  string
		stay time.Duration
	}{
		"nothing said":         {"", 10 * time.Second},
		"half a head":          {"GET /health HTTP/1.1\r\nHost: loc", 10 * time.Second},
		"idle after a request": {"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 30 * time.Second},
		"half a body":          {"POST /v0/auth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{", 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, err := gateway.New(gateway.Options{Secret: secret, OpenTokens: true})
				if err != nil {
					t.Fatal(err)
				}
				l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
				s, served := g.Server(), make(chan error)
				go func() { served <- s.Serve(l) }()
				conn, _ := l.dial(context.Background(), "", "")
				start := time.Now()
				go io.WriteString(conn, c.say)
				io.Copy(io.Discard, bufio.NewReader(conn))
				if stayed := time.Since(start).Round(time.Second); stayed > c.stay {
					t.Errorf("it could stay for %v, want %v", stayed, c.stay)
				}
				conn.Close()
				g.Close()
				s.Close()
				<-served
			})
		})
	}
}

// Who asks for something and does not take the answer keeps neither it nor the connection.
func TestNobodyWithoutASeatLeavesAnAnswerForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := gateway.New(gateway.Options{Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		s, served := g.Server(), make(chan error)
		go func() { served <- s.Serve(l) }()
		conn, _ := l.dial(context.Background(), "", "")
		io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
		time.Sleep(time.Minute + time.Second)
		if n, _ := io.Copy(io.Discard, conn); n > 0 {
			t.Errorf("after a minute %d bytes of the answer were still there", n)
		}
		conn.Close()
		g.Close()
		s.Close()
		<-served
	})
}

// A head that no token needs is not read to its end.
func TestALongHeadIsNotRead(t *testing.T) {
	h := open(t, gateway.Options{})
	conn := h.call("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 100<<10) + "\r\n\r\n")
	conn.SetReadDeadline(time.Now().Add(patience))
	if status, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(status, " 431 ") {
		t.Errorf("answered with %q, %v", status, err)
	}
}
