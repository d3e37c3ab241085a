package topic

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func tlsRoots(srv *httptest.Server) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return roots
}

// TestUsage: what New refuses, and that it says what to write instead.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		hint string // "" means that it is accepted
	}{
		{"loopback by name", Options{URL: "ws://localhost:7420"}, ""},
		{"loopback by number", Options{URL: "ws://127.9.0.1"}, ""},
		{"loopback in IPv6", Options{URL: "ws://[::1]:7420/ws"}, ""},
		{"TLS anywhere", Options{URL: "wss://gateway.example"}, ""},
		{"clear text where the owner says so", Options{URL: "ws://gateway.example", Insecure: true}, ""},
		{"a topic in the URL", Options{URL: "ws://localhost/ws?topic=t1", Topic: "-"}, ""},
		{"each dialect", Options{URL: "ws://localhost", Dialect: "mew/v0.4"}, ""},
		{"cli-006 clear text off loopback", Options{URL: "ws://example.com/ws"}, "wss://"},
		{"a name that only looks like loopback", Options{URL: "ws://localhost.example.com"}, "wss://"},
		{"an address that only looks like loopback", Options{URL: "ws://128.0.0.1"}, "wss://"},
		{"http", Options{URL: "http://localhost:7420/ws"}, "ws://localhost:7420/ws"},
		{"https", Options{URL: "https://gateway.example"}, "wss://gateway.example"},
		{"no scheme", Options{URL: "localhost:7420"}, "ws://localhost:7420"},
		{"nothing", Options{URL: ""}, "ws://127.0.0.1"},
		{"no URL", Options{URL: "ws://[::1"}, "ws://127.0.0.1"},
		{"a password in the URL", Options{URL: "wss://me:s3cret@gateway.example"}, "token"},
		{"two topics", Options{URL: "ws://localhost/ws?topic=other"}, "once"},
		{"no id", Options{URL: "ws://localhost", ID: "a b"}, "letters"},
		{"the gateway's id", Options{URL: "ws://localhost", ID: "system"}, "system"},
		{"a topic with a line break", Options{URL: "ws://localhost", Topic: "a\nb"}, "printable"},
		{"an unknown dialect", Options{URL: "ws://localhost", Dialect: "d0"}, "mcp-x/v0"},
	} {
		if c.o.ID == "" {
			c.o.ID = "fs"
		}
		switch c.o.Topic {
		case "":
			c.o.Topic = "t1"
		case "-":
			c.o.Topic = ""
		}
		_, err := New(c.o)
		if c.hint == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		u, ok := errors.AsType[*fault.Error](err)
		if !ok || !strings.Contains(strings.Join(u.Hint, " "), c.hint) {
			t.Errorf("%s: %#v, want a hint with %q", c.name, err, c.hint)
		}
		if err != nil && strings.Contains(err.Error()+strings.Join(u.Hint, " "), "s3cret") {
			t.Errorf("%s: the error shows the password: %v", c.name, err)
		}
	}
}

// TestRest: the endpoints lie beside the socket, also below a path of a proxy.
func TestRest(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{"ws://localhost:1", "http://localhost:1/health?space=t+1"},
		{"wss://host/", "https://host/health?space=t+1"},
		{"ws://localhost/v0/ws?topic=t", "http://localhost/health?space=t+1"},
		{"wss://host/below/ws", "https://host/below/health?space=t+1"},
	} {
		a, err := parseAddress(Options{URL: c.given})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.rest("/health", url.Values{"space": {"t 1"}}); got != c.want {
			t.Errorf("%s: %s, want %s", c.given, got, c.want)
		}
	}
}

// TestNoSeat: nothing can be sent before the welcome.
func TestNoSeat(t *testing.T) {
	s, err := New(Options{URL: "ws://localhost:1", ID: "fs", Topic: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(wire.Reply, []byte("x")); err != ErrNoSeat {
		t.Errorf("Send: %v", err)
	}
	s.Flush()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Run(ctx, nil); err != nil {
		t.Errorf("Run with an ended context: %v", err)
	}
}
