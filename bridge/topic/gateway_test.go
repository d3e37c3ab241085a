package topic

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// ours runs our own gateway on loopback.
func ours(t *testing.T) (g *gateway.Gateway, url string) {
	g, err := gateway.New(gateway.Options{Secret: bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(g)
	t.Cleanup(func() { g.Close(); srv.Close(); http.DefaultClient.CloseIdleConnections() })
	return g, "ws" + strings.TrimPrefix(srv.URL, "http")
}

func minted(t *testing.T, g *gateway.Gateway, id string) func(context.Context, bool) (string, error) {
	text, err := g.Mint(gateway.Claims{ID: id, Topic: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	return token(text)
}

// ask sends a request from the seat to somebody.
func (s *sitting) ask(id, to string) {
	s.t.Helper()
	payload := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	m, err := jsonrpc.Parse(payload, jsonrpc.Judged)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	d, you := s.speaks, s.last.You
	s.mu.Unlock()
	frame, err := d.Append(nil, &wire.Envelope{
		ID: id, TS: "2026-01-01T00:00:00Z", From: you.ID, To: []string{to},
		Kind: wire.Request, Method: "tools/list", Payload: payload, Message: m,
	}, you.Caps)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.Send(wire.Own, frame); err != nil {
		s.t.Fatal(err)
	}
	s.Flush()
}

// until skips notes up to one that begins so.
func (s *sitting) until(begin string) {
	s.t.Helper()
	for !strings.HasPrefix(s.next().what, begin) {
	}
}

// TestOurGateway joins our own gateway in every dialect, and from inside.
func TestOurGateway(t *testing.T) {
	g, url := ours(t)
	fs := sit(t, Options{URL: url, Token: minted(t, g, "fs")})
	fs.until("taken mcpx/v0.1 fs") // told nothing, the richest that it speaks
	for _, d := range wire.Dialects {
		t.Run(d.Protocol, func(t *testing.T) {
			s := sit(t, Options{URL: url, ID: "bob", Dialect: d.Protocol, Token: minted(t, g, "bob")})
			s.until("taken m") // the older mew dialects end up as mew/v0.4: a join names none
			s.ask("e-"+d.Protocol, "fs")
			fs.until("got mcp/request:tools/list e-" + d.Protocol)
		})
	}
	t.Run("inside", func(t *testing.T) {
		d, _ := wire.Lookup("mcpx/v0.1")
		s := sit(t, Options{ID: "bob", Dial: func(context.Context) (Conn, error) { return g.Attach("t1", "bob", wire.Caps{}, d) }})
		s.until("taken mcpx/v0.1 bob")
		s.ask("inside", "fs")
		fs.until("got mcp/request:tools/list inside")
		fs.ask("back", "bob")
		s.until("got mcp/request:tools/list back")
	})
	t.Run("somebody else under our id", func(t *testing.T) {
		sit(t, Options{URL: url, Token: minted(t, g, "fs")}).until("taken")
		fs.until("lost the gateway closed the connection (4001)")
	})
	t.Run("a token for another topic", func(t *testing.T) {
		text, err := g.Mint(gateway.Claims{ID: "eve", Topic: "other"})
		if err != nil {
			t.Fatal(err)
		}
		sit(t, Options{URL: url, ID: "eve", Token: token(text)}).fatal(4)
	})
}
