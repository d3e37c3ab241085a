//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	client "github.com/mcpx-protocol/mcpx-bridge/examples/stage/seat"
)

// A seat is a participant with nothing but a WebSocket, who comes back when
// the gateway does.
type seat struct {
	id, url, token string                      // token is the name of the file that it is in
	hear           func(s *seat, frame []byte) // the frame is good until it returns

	mu sync.Mutex
	at *client.Seat // nil while there is none

	once sync.Once
	here chan struct{} // closed by the first welcome
}

// take returns a seat whose run is still to be called.
func take(id, url, token string, hear func(*seat, []byte)) *seat {
	return &seat{id: id, url: url, token: token, hear: hear, here: make(chan struct{})}
}

var errAway = errors.New("there is no link to the gateway")

func (s *seat) send(frame []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		return errAway
	}
	return s.at.WriteWithin(5*time.Second, frame)
}

// run keeps the seat until ctx ends.
func (s *seat) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, s.hangUp)
	defer stop()
	for ctx.Err() == nil {
		if at, err := client.Dial(websocket.DefaultDialer, s.url, s.token); err == nil {
			s.listen(ctx, at)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// listen hears frames until the link breaks. The first is the welcome.
func (s *seat) listen(ctx context.Context, at *client.Seat) {
	defer s.hangUp()
	for first := true; ; first = false {
		frame, err := at.Read()
		if err != nil {
			at.Close()
			return
		}
		if first {
			s.mu.Lock()
			s.at = at
			s.mu.Unlock()
			s.once.Do(func() { close(s.here) })
			if ctx.Err() != nil {
				return
			}
		}
		s.hear(s, frame)
	}
}

func (s *seat) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at != nil {
		s.at.Close()
		s.at = nil
	}
}

// sleep takes the seat for a while and reads nothing, with the least room for
// what it does not read.
func (s *seat) sleep(ctx context.Context, while time.Duration) error {
	small := websocket.Dialer{NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4 << 10)
		}
		return conn, err
	}}
	at, err := client.Dial(&small, s.url, s.token)
	if err != nil {
		return err
	}
	defer at.Close()
	return pause(ctx, while)
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// talk says so many things a second, of so many bytes, to nobody in particular.
func (s *seat) talk(ctx context.Context, perSecond, size int) {
	text := strings.Repeat("x", size)
	for n := 0; pause(ctx, time.Second/time.Duration(perSecond)) == nil; n++ {
		_ = s.send(fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":"%s-%d","ts":"2026-01-01T00:00:00Z","from":%q,"kind":"chat","payload":{"text":%q}}`, s.id, n, s.id, text))
	}
}
