package localgateway_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A squatter listens where this machine's gateway was, and passes on all that it hears to
// where that is now, and all that comes back.
type squatter struct {
	net.Listener
	to string

	mu    sync.Mutex
	heard bytes.Buffer
	ends  []net.Conn
}

func squat(t *testing.T, to string) *squatter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &squatter{Listener: l, to: to}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", s.to)
			if err != nil {
				in.Close()
				continue
			}
			s.mu.Lock()
			s.ends = append(s.ends, in, out)
			s.mu.Unlock()
			all.Go(func() { io.Copy(io.MultiWriter(out, s), in); out.Close() })
			all.Go(func() { io.Copy(in, out); in.Close() })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for _, c := range s.ends {
			c.Close()
		}
		s.mu.Unlock()
		all.Wait()
	})
	return s
}

// Write notes what was heard.
func (s *squatter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard.Write(p)
}

func (s *squatter) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Contains(s.heard.Bytes(), []byte(text))
}

// Whoever is quick can listen where this machine's gateway was a moment ago, while another
// host is just taking over elsewhere. It gets no token, not even if it passes on our
// challenge to the real one (FINDINGS L9).
func TestWhoTookTheGatewaysPortIsHandedNoToken(t *testing.T) {
	state := localgateway.StateDir(filepath.Join(t.TempDir(), "state"))
	if err := state.Open(); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	h, err := localgateway.New(localgateway.Options{State: state, Listen: "127.0.0.1:0"}).HostByHand(t.Context(), gateway.Options{Log: log}, nil)
	if err != nil || !h.Local() {
		t.Fatal(err)
	}
	defer h.Stop()
	real := localgateway.New(localgateway.Options{State: state})
	if at, err := real.Find(t.Context(), 0); err != nil || at != h.URL() {
		t.Fatalf("the real one is not found: %q, %v", at, err)
	}
	other, err := gateway.New(gateway.Options{Secret: []byte("somebody else's secret, who knows")})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	strange, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := other.Server()
	served := make(chan error, 1)
	go func() { served <- server.Serve(strange) }()
	defer func() { server.Close(); <-served }()
	for name, to := range map[string]string{"it passes everything on": h.URL()[len("ws://"):], "it is a gateway itself": strange.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			s := squat(t, to)
			if err := os.WriteFile(state.File("gateway.json"), []byte(`{"url":"ws://`+s.Addr().String()+`"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			c := &localgateway.Connector{Local: real, Join: topic.Options{URL: h.URL(), Topic: "lobby", ID: "ann", MaxWaitFirst: time.Second}}
			seat, err := c.Seat()
			if err != nil {
				t.Fatal(err)
			}
			if err := seat.Run(t.Context(), nobody{t}); err == nil {
				t.Error("we had a seat and left it")
			}
			if _, err := real.Present(context.WithoutCancel(t.Context()), "ws://"+s.Addr().String(), "lobby"); err == nil {
				t.Error("we asked it who is there")
			}
			if s.has("eyJ") || s.has("Bearer") {
				t.Error("it was handed a token")
			}
			if !s.has("challenge=") {
				t.Error("it was never asked for a proof")
			}
		})
	}
}

// nobody hears what happens at a seat that must not be had.
type nobody struct{ t *testing.T }

func (n nobody) SeatTaken(wire.Dialect, wire.Welcome) { n.t.Error("we joined through it") }
func (nobody) SeatLost(error)                         {}
func (nobody) Received(*wire.Envelope)                {}
func (nobody) Refused(*wire.Refused)                  {}
func (nobody) TopicIdle()                             {}
