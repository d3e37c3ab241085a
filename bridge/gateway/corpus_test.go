package gateway_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// The cases gwy-* of the corpus of bad inputs that are about requests.
func TestCorpusHTTP(t *testing.T) {
	upgrade := http.Header{"Upgrade": {"websocket"}}
	for _, c := range []struct {
		name   string
		path   string
		token  string // topic it is for
		header http.Header
		status int
	}{
		{"gwy-001 no token", "/ws?topic=t", "", nil, 401},
		{"gwy-002 token in the address", "/ws?topic=t&token=$T", "", nil, 401},
		{"gwy-003 token for another topic", "/ws?topic=other", "t", nil, 403},
		{"gwy-004 foreign origin", "/ws?topic=t", "t", http.Header{"Origin": {"http://evil.test"}}, 403},
		{"gwy-005 DNS rebinding", "/ws?topic=t", "t", http.Header{"Host": {"evil.test"}, "Origin": {"http://evil.test"}}, 421},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, gateway.Options{})
			header := upgrade.Clone()
			maps.Copy(header, c.header)
			token := h.mint("alice", "t")
			bearer := ""
			if c.token != "" {
				bearer = h.mint("alice", c.token)
			}
			status, body := h.get("GET", strings.Replace(c.path, "$T", token, 1), bearer, header, "")
			if status != c.status {
				t.Errorf("status %d, want %d: %s", status, c.status, body)
			}
			if strings.Contains(h.log.String()+body, token) {
				t.Error("the token is in the log or the answer")
			}
		})
	}
}

// The cases gwy-* of the corpus that are about what a participant sends.
func TestCorpusFrames(t *testing.T) {
	for _, c := range []struct{ name, frame, code, reason string }{
		{
			"gwy-008 from is somebody else",
			`{"protocol":"mcpx/v0.1","id":"1","from":"alice","kind":"chat","payload":{"text":"hi"}}`,
			"auth_violation", "from_mismatch",
		},
		{
			"gwy-009 speaks for the gateway",
			`{"protocol":"mcpx/v0.1","id":"1","from":"mallory","kind":"system/presence","payload":{"event":"leave","participant":{"id":"alice"}}}`,
			"reserved_namespace", "reserved_namespace",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, gateway.Options{})
			bob := h.join("mcpx/v0.1", "bob")
			mallory := h.join("mcpx/v0.1", "mallory")
			mallory.send(c.frame)
			e := mallory.kind(wire.Failure)
			f, err := e.Fault()
			if err != nil || f.Code != c.code {
				t.Errorf("fault %+v, %v; want code %s", f, err, c.code)
			}
			if e.Spelled != "system/error" {
				t.Errorf("kind %s, want system/error", e.Spelled)
			}
			if !strings.Contains(h.log.String(), "reason="+c.reason) {
				t.Errorf("log has no %s:\n%s", c.reason, h.log)
			}
			mallory.mark(bob)
			for _, frame := range bob.seen {
				if strings.Contains(frame, `"from":"alice"`) || strings.Contains(frame, `"leave"`) {
					t.Errorf("bob was given %s", frame)
				}
			}
		})
	}
	t.Run("gwy-012 second connection under one id", func(t *testing.T) {
		h := open(t, gateway.Options{})
		first := h.join("mcpx/v0.1", "alice")
		second := h.join("mcpx/v0.1", "alice")
		if c := first.closed(); c.Code != 4001 {
			t.Errorf("the first was closed with %d %s, want 4001", c.Code, c.Text)
		}
		bob := h.join("mcpx/v0.1", "bob")
		bob.mark(second)
	})
	t.Run("gwy-013 slow reader", slowReaderIsCut)
	for _, c := range []struct {
		name string
		raw  string
		code int
	}{
		{"gwy-014 continuation without start", "\x80\x81\x00\x00\x00\x00x", websocket.CloseProtocolError},
		{"gwy-015 unmasked", "\x81\x01x", websocket.CloseProtocolError},
		{"gwy-019 length 2^63-1", "\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", websocket.CloseMessageTooBig},
	} {
		t.Run(c.name, func(t *testing.T) { closesOn(t, c.raw, c.code) })
	}
}
