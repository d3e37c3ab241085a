package wire_test

import (
	"fmt"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func newNames() (id, ts string) { return "made-up", "2026-01-02T03:04:05.000Z" }

// What a sender leaves out is put in where the gateways of its dialect do so, and nowhere
// else; what is whole stays as it is (FINDINGS D4, D8, D18).
func TestAFrameIsCompletedAsItsGatewaysDo(t *testing.T) {
	const chat = `"kind":"chat","payload":{"text":"x"}}`
	for _, c := range []struct{ protocol, frame, want string }{
		{"mew/v0.4", `{` + chat, `{"protocol":"mew/v0.4","id":"made-up","ts":"2026-01-02T03:04:05.000Z","from":"ann",` + chat},
		{"mew/v0.3", ` {"id":"7",` + chat, ` {"protocol":"mew/v0.3","ts":"2026-01-02T03:04:05.000Z","from":"ann","id":"7",` + chat},
		{"mew/v0.4", `{"protocol":"mew/v0.3","from":"bob","id":"7","ts":"t",` + chat, ""},
		{"mew/v0.4", `{"correlation_id":"a\u0062","protocol":"mew/v0.4","from":"ann","id":"7","ts":"t",` + chat,
			`{"correlation_id":["a\u0062"],"protocol":"mew/v0.4","from":"ann","id":"7","ts":"t",` + chat},
		{"mew/v0.4", `{"protocol":"mew/v0.4","from":"ann","id":"7","ts":"t","correlation_id":["a"],` + chat, ""},
		{"mcpx/v0.1", `{"from":"ann","id":"7",` + chat, `{"protocol":"mcpx/v0.1","from":"ann","id":"7",` + chat},
		{"mcpx/v0.1", `{"protocol":"mcpx/v0.1","from":"ann","id":"7","correlation_id":"a",` + chat, ""},
		{"mcp-x/v0", `{"from":"ann","id":"7","kind":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/x"}}`,
			`{"protocol":"mcp-x/v0","from":"ann","id":"7","kind":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/x"}}`},
	} {
		d := lookup(t, c.protocol)
		if c.want == "" {
			c.want = c.frame
		}
		var e wire.Envelope
		whole, err := d.Accept(&e, []byte(c.frame), "ann", newNames)
		if err != nil || string(whole) != c.want {
			t.Errorf("%s: %v\n%s became\n%s want\n%s", c.protocol, err, c.frame, whole, c.want)
		}
		again, err := d.Decode([]byte(c.want))
		if err != nil || fmt.Sprint(again.ID, again.From, again.Corr, again.Kind) != fmt.Sprint(e.ID, e.From, e.Corr, e.Kind) {
			t.Errorf("%s: read as %+v, then as %+v (%v)", c.protocol, e, again, err)
		}
	}
	for _, c := range []struct{ protocol, frame, reason string }{
		{"mcpx/v0.1", `{"id":"7",` + chat, wire.EnvelopeInvalid},
		{"mcpx/v0.1", `{"from":"ann",` + chat, wire.EnvelopeInvalid},
		{"mcp-x/v0", `{"from":"ann","kind":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/x"}}`, wire.EnvelopeInvalid},
		{"mew/v0.4", `{"from":null,` + chat, wire.EnvelopeInvalid},
		{"mew/v0.4", `{"protocol":7,` + chat, wire.EnvelopeInvalid},
		{"mew/v0.4", `{"from":"system:gateway",` + chat, wire.FromReserved},
		{"mew/v0.4", `{"From":"bob",` + chat, "json_key_case"},
		{"mew/v0.4", `{"from":"ann","from":"bob",` + chat, "json_duplicate_key"},
		{"mew/v0.4", `{"payload":{}}`, wire.EnvelopeInvalid},
		{"mew/v0.4", `{"kind":"system/presence","payload":{}}`, wire.SystemNotFromGateway},
		{"mew/v0.4", `{`, "json_syntax"},
	} {
		_, err := lookup(t, c.protocol).Accept(new(wire.Envelope), []byte(c.frame), "ann", newNames)
		if r, ok := err.(*wire.Refused); !ok || r.Reason != c.reason {
			t.Errorf("%s: %s is refused with %v, want %s", c.protocol, c.frame, err, c.reason)
		}
	}
}

// A function that returns nothing has answered: mew clients send {} then (FINDINGS D17).
func TestAFunctionThatReturnsNothingHasAnswered(t *testing.T) {
	for _, c := range []struct {
		protocol, kind, payload string
		answers                 bool
	}{
		{"mew/v0.4", "mcp/response", `{}`, true},
		{"mew/v0.4", "mcp/response", `{"jsonrpc":"2.0","id":7}`, true},
		{"mew/v0.4", "mcp/response", `{"error":null}`, true},
		{"mcpx/v0.1", "mcp/response:tools/call:x", `{"jsonrpc":"2.0","id":7}`, true},
		{"mcp-x/v0", "mcp", `{"jsonrpc":"2.0","id":7}`, true},
		{"mew/v0.4", "mcp/request", `{}`, false},
		{"mew/v0.4", "mcp/response", `{"method":"tools/call"}`, false},
		{"mew/v0.4", "mcp/response", `{"content":[]}`, false},
		{"mcpx/v0.1", "mcp/response:tools/call:x", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, false},
	} {
		frame := []byte(`{"protocol":"` + c.protocol + `","id":"r","from":"ann","kind":"` + c.kind + `","correlation_id":"q","payload":` + c.payload + `}`)
		e, err := lookup(t, c.protocol).Decode(frame)
		if (err == nil) != c.answers {
			t.Errorf("%s: %s: %v", c.protocol, c.payload, err)
		}
		if !c.answers {
			continue
		}
		if e.Kind != wire.Response || string(e.Message.Get(jsonrpc.Result)) != `{}` || string(e.Payload) != c.payload {
			t.Errorf("%s: %s is read as a %s with the result %s and the payload %s", c.protocol, c.payload, e.Kind, e.Message.Get(jsonrpc.Result), e.Payload)
		}
		e.Method = "tools/call"
		for _, protocol := range []string{"mcp-x/v0", "mcpx/v0.1"} {
			other := lookup(t, protocol)
			if other.Alike(lookup(t, c.protocol)) {
				continue
			}
			spelled := e.Complete(other, []byte("9"))
			out, err := other.Append(nil, &spelled, wire.Caps{})
			if back, berr := other.Decode(out); err != nil || berr != nil || string(back.Message.Get(jsonrpc.Result)) != `{}` || string(back.Message.Get(jsonrpc.ID)) != "9" {
				t.Errorf("in %s: %s, %v, %v", protocol, out, err, berr)
			}
		}
	}
}
