package wire_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// proposal reads a proposal with these members in its payload beside its method.
func proposal(t *testing.T, kind, rest string) *wire.Envelope {
	t.Helper()
	return proposed(t, kind, `{"name":"write_file"}`, rest)
}

func proposed(t *testing.T, kind, params, rest string) *wire.Envelope {
	t.Helper()
	e, err := lookup(t, "mcpx/v0.1").Decode([]byte(`{"id":"p1","from":"bob","kind":"` + kind + `","payload":{"method":"tools/call","params":` + params + rest + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &e
}

// What a proposal says of who should serve it and how long it holds, in every
// place where a seed puts it (WIRE 4.1, 7.8).
func TestOffer(t *testing.T) {
	plain := wire.Offer{Method: "tools/call", Key: "write_file", Params: []byte(`{"name":"write_file"}`), Style: wire.V2,
		FallbackToBroadcast: true, QuickReject: true, FallbackAfter: 5 * time.Second, ExclusiveFor: 3 * time.Second}
	for _, c := range []struct {
		kind, rest string
		want       func(o *wire.Offer)
	}{
		{"mcp/proposal:tools/call:write_file", ``, func(*wire.Offer) {}},
		{"mcp/proposal", ``, func(*wire.Offer) {}},
		{"mcp.proposal.tools/call", ``, func(o *wire.Offer) { o.Style = wire.Seed001 }},
		{"mcp.proposal", `,"ttl":60000`, func(o *wire.Offer) { o.Style, o.TTL = wire.Seed001, time.Minute }},
		{"proposal", `,"ttl":30000`, func(o *wire.Offer) { o.Style, o.TTL = wire.Seed000, 30*time.Second }},
		{"proposal", `,"preferred":"fs"`, func(o *wire.Offer) { o.Style, o.Preferred = wire.Seed000, []string{"fs"} }},
		{"mcp/proposal", `,"fulfiller":["a","b"]`, func(o *wire.Offer) { o.Preferred = []string{"a", "b"} }},
		{"mcp/proposal", `,"preferred_fulfillers":["a"]`, func(o *wire.Offer) { o.Preferred = []string{"a"} }},
		{"mcp/proposal", `,"preferred_participant":"a"`, func(o *wire.Offer) { o.Preferred = []string{"a"} }},
		{"mcp/proposal", `,"targeting":{"preferred":["a"],"exclusive":true,"exclusive_timeout":2500.5,"fallback_to_broadcast":false,"quick_reject":false,"fallback_timeout":100}`, func(o *wire.Offer) {
			o.Preferred, o.Exclusive, o.ExclusiveFor, o.FallbackToBroadcast, o.QuickReject, o.FallbackAfter = []string{"a"}, true, 2500500*time.Microsecond, false, false, 100*time.Millisecond
		}},
		{"mcp/proposal", `,"exclusive":true,"quick_reject":false`, func(o *wire.Offer) { o.Exclusive, o.QuickReject = true, false }},
		{"mcp/proposal", `,"request_response":true,"response_timeout":1000,"required_capabilities":["git"]`, func(o *wire.Offer) {
			o.WantsResponse, o.Needs = true, []string{"git"}
		}},

		// of several places the first counts
		{"mcp/proposal", `,"targeting":{"preferred":"1"},"preferred":"2","preferred_fulfillers":"3","preferred_participant":"4","fulfiller":"5"`, func(o *wire.Offer) { o.Preferred = []string{"1"} }},
		{"mcp/proposal", `,"targeting":{},"preferred":"2","preferred_fulfillers":"3","preferred_participant":"4","fulfiller":"5"`, func(o *wire.Offer) { o.Preferred = []string{"2"} }},
		{"mcp/proposal", `,"targeting":null,"preferred_fulfillers":"3","preferred_participant":"4","fulfiller":"5"`, func(o *wire.Offer) { o.Preferred = []string{"3"} }},
		{"mcp/proposal", `,"preferred":null,"preferred_participant":"4","fulfiller":"5"`, func(o *wire.Offer) { o.Preferred = []string{"4"} }},

		// times are kept within bounds, and bids are not heard
		{"mcp/proposal", `,"ttl":1e300,"fallback_timeout":-5,"exclusive_timeout":600001`, func(o *wire.Offer) {
			o.TTL, o.FallbackAfter, o.ExclusiveFor = 10*time.Minute, 0, 10*time.Minute
		}},
		{"mcp/proposal", `,"ttl":0,"request_bids":true,"bid_timeout":3000`, func(*wire.Offer) {}},
		{"mcp/proposal", `,"ttl":-5`, func(o *wire.Offer) { o.TTL = -1 }},
		{"mcp/proposal", `,"ttl":-0.0`, func(*wire.Offer) {}},
		{"mcp/proposal", `,"ttl":-1e-300`, func(o *wire.Offer) { o.TTL = -1 }},
		{"mcp/proposal", `,"Targeting":{"preferred":"x"},"TTL":7`, func(*wire.Offer) {}},
	} {
		want := plain
		c.want(&want)
		got, err := proposal(t, c.kind, c.rest).Offer()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s: %v\n got %+v\nwant %+v", c.kind, c.rest, err, got, want)
		}
	}
}

// What is malformed is told, with enough of the offer to say so to its maker.
func TestOfferMalformed(t *testing.T) {
	for rest, want := range map[string]string{
		`,"targeting":[]`:                         "targeting is not an object",
		`,"preferred":7`:                          "preferred is neither a string nor a list of strings",
		`,"preferred":["a",7]`:                    "preferred is neither",
		`,"targeting":{"exclusive":"yes"}`:        "exclusive is neither true nor false",
		`,"quick_reject":1`:                       "quick_reject is neither",
		`,"ttl":"soon","exclusive":7`:             "exclusive is neither true nor false, ttl is not a number of milliseconds",
		`,"ttl":"soon"`:                           "ttl is not a number of milliseconds",
		`,"required_capabilities":{}`:             "required_capabilities is neither",
		`,"preferred":["` + long(300) + `"]`:      "one of over 256 bytes",
		`,"preferred":[` + repeated(257) + `"a"]`: "more than 256 names",
	} {
		o, err := proposal(t, "mcp.proposal.tools/call", rest).Offer()
		if err == nil || !strings.Contains(err.Error(), want) || o.Style != wire.Seed001 {
			t.Errorf("%.60s: %v, want %q", rest, err, want)
		}
	}
	for params, want := range map[string]string{
		`{"tool":"write_file"}`: "params name the tool as tool, where MCP says name",
		`{}`:                    "params have no name",
		`{"name":""}`:           "params have no name",
		`{"name":7}`:            "params have no name",
	} {
		if _, err := proposed(t, "proposal", params, "").Offer(); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", params, err, want)
		}
	}
}

func long(n int) string     { return strings.Repeat("x", n) }
func repeated(n int) string { return strings.Repeat(`"a",`, n) }

// Only whoever was told to reads the sloppy samples of seed 000 (WIRE 4.3).
func TestLenient(t *testing.T) {
	e := proposed(t, "proposal", `{ "tool" : "write_file", "arguments":{"n":1e400}}`, `,"preferred":"fs"`).Lenient()
	o, err := e.Offer()
	if err != nil || o.Key != "write_file" || string(o.Params) != `{"name":"write_file","arguments":{"n":1e400}}` || o.Preferred[0] != "fs" {
		t.Errorf("%+v, %v", o, err)
	}
	if string(e.Message.Get(jsonrpc.Arguments)) != `{"n":1e400}` {
		t.Errorf("the message is %s", e.Message.Raw)
	}
	for _, params := range []string{`{"name":"read_file","tool":"write_file"}`, `{"tool":7}`, `{}`} {
		before := proposed(t, "proposal", params, "")
		if after := before.Lenient(); string(after.Payload) != string(before.Payload) || after.Key != before.Key {
			t.Errorf("%s became %s", params, after.Payload)
		}
	}
}

// What we propose is read as we meant it, in every dialect and style.
func TestOfferPayload(t *testing.T) {
	for i, o := range []wire.Offer{
		{},
		{Preferred: []string{"a", `b"`}, FallbackAfter: time.Second},
		{Preferred: []string{"a"}, Exclusive: true, ExclusiveFor: 2 * time.Second, FallbackToBroadcast: true, TTL: time.Minute},
		{TTL: time.Second},
	} {
		o.Method, o.Key, o.Params = "tools/call", "write_file", []byte(`{"name":"write_file"}`)
		for _, d := range wire.Dialects[1:] {
			for _, style := range []wire.Style{wire.Auto, wire.Seed000, wire.Seed001, wire.Seed002} {
				e := wire.Envelope{Kind: wire.Proposal, Style: style, ID: "p1", From: "bob", Method: o.Method, Key: o.Key, Payload: o.Payload()}
				got := across(t, d, &e)
				back, err := got.Offer()
				if err != nil || back.Exclusive != o.Exclusive || back.TTL != o.TTL || fmt.Sprint(back.Preferred) != fmt.Sprint(o.Preferred) ||
					o.Exclusive && (back.ExclusiveFor != o.ExclusiveFor || !back.FallbackToBroadcast) || o.FallbackAfter > 0 && back.FallbackAfter != o.FallbackAfter {
					t.Errorf("%d in %s as %s: %v\n%+v\n%s", i, d.Protocol, style, err, back, e.Payload)
				}
			}
		}
	}
}
