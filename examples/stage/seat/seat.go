// Package seat is a participant with nothing but a WebSocket, as somebody else would
// write one: it shows a token, and what it reads and writes are frames as they are.
package seat

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// A Seat is a session with a gateway, or with whatever else is at a WebSocket. One
// goroutine at a time may read, and one write.
type Seat struct {
	ws  *websocket.Conn
	buf bytes.Buffer
}

// Dial opens a session. token is the name of the file that the token to show is in, ""
// for none.
func Dial(d *websocket.Dialer, url, token string) (*Seat, error) {
	header := http.Header{}
	if token != "" {
		text, err := os.ReadFile(token)
		if err != nil {
			return nil, err
		}
		header.Set("Authorization", "Bearer "+strings.TrimSpace(string(text)))
	}
	ws, _, err := d.Dial(url, header)
	return &Seat{ws: ws}, err
}

// Take opens a session and waits until the gateway has given it its seat.
func Take(d *websocket.Dialer, url, token string) (*Seat, error) {
	s, err := Dial(d, url, token)
	for welcome := false; err == nil && !welcome; {
		var frame []byte
		frame, err = s.Read()
		welcome = bytes.Contains(frame, []byte(`"system/welcome"`))
	}
	return s, err
}

// Frame is a frame of mcpx/v0.1 from one participant to another. more are members beside
// those that every frame has, each with a comma before it.
func Frame(id, from, to, kind, more, payload string) []byte {
	return fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":%q,"ts":"2026-01-01T00:00:00Z","from":%q,"to":[%q],"kind":%q%s,"payload":%s}`, id, from, to, kind, more, payload)
}

// Answer is a frame that answers a request of the bridge with a JSON-RPC result: link is the
// id of its envelope, rpc that of its message.
func Answer(id, from, to, method, link, rpc, result string) []byte {
	return Frame(id, from, to, "mcp/response:"+method, fmt.Sprintf(`,"correlation_id":%q`, link), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, rpc, result))
}

// Read returns the next frame, which is good until the next Read.
func (s *Seat) Read() ([]byte, error) {
	_, r, err := s.ws.NextReader()
	if err != nil {
		return nil, err
	}
	s.buf.Reset()
	_, err = s.buf.ReadFrom(r)
	return s.buf.Bytes(), err
}

// ReadWithin is Read that fails when nothing has come in that time; then the session is
// good for nothing more.
func (s *Seat) ReadWithin(d time.Duration) ([]byte, error) {
	_ = s.ws.SetReadDeadline(time.Now().Add(d))
	defer s.ws.SetReadDeadline(time.Time{})
	return s.Read()
}

// Drop reads and forgets, until the session ends.
func (s *Seat) Drop() {
	for {
		if _, _, err := s.ws.NextReader(); err != nil {
			return
		}
	}
}

// Write sends a frame, and waits until the other end takes it.
func (s *Seat) Write(frame []byte) error {
	return s.ws.WriteMessage(websocket.TextMessage, frame)
}

// WriteWithin is Write that fails when the other end has not taken it in that time; then
// the session is good for nothing more.
func (s *Seat) WriteWithin(d time.Duration, frame []byte) error {
	_ = s.ws.SetWriteDeadline(time.Now().Add(d))
	return s.Write(frame)
}

// Close ends the session without a word. Any goroutine may call it.
func (s *Seat) Close() error { return s.ws.Close() }
