package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// The kind is the longest spelling that is permitted (WIRE W-4, O26, O27, O80).
func TestAppendSpellsWhatIsPermitted(t *testing.T) {
	answer := wire.Envelope{Kind: wire.Response, ID: "a", From: "fs", To: []string{"bob"}, Corr: []string{"e1"}, Method: "tools/call", Key: "read_file", Payload: []byte(`{"id":1,"result":{}}`)}
	ask := wire.Envelope{Kind: wire.Request, ID: "q", From: "fs", To: []string{"alice"}, Method: "elicitation/create", Payload: []byte(`{"id":1,"method":"elicitation/create"}`)}
	tell := wire.Envelope{Kind: wire.Notification, ID: "n", From: "fs", Method: "notifications/x", Payload: []byte(`{"method":"notifications/x"}`)}
	reject := wire.Envelope{Kind: wire.Reject, ID: "r", From: "fs", To: []string{"bob"}, Corr: []string{"p1"}, Payload: []byte(`{"reason":"incapable"}`)}
	long := ask
	long.Method, long.Key = "resources/read", "file:///"+strings.Repeat("x", 5000)
	for _, c := range []struct {
		protocol string
		caps     string
		e        *wire.Envelope
		kind     string // "" if not permitted
	}{
		{"mcpx/v0.1", ``, &answer, "mcp/response:tools/call:read_file"},
		{"mcpx/v0.1", `["mcp/*","chat"]`, &answer, "mcp/response:tools/call:read_file"},
		{"mcpx/v0.1", `["mcp/response:*"]`, &answer, "mcp/response:tools/call:read_file"},
		{"mcpx/v0.1", `["mcp/response:tools/call","chat"]`, &answer, "mcp/response:tools/call"},
		{"mcpx/v0.1", `["mcp/response:tools/call:write_*","mcp/response:tools/call"]`, &answer, "mcp/response:tools/call"},
		{"mcpx/v0.1", `["mcp/request:*"]`, &answer, ""},
		{"mcpx/v0.1", `[]`, &answer, ""},
		{"mcpx/v0.1", `["mcp/response:*","chat"]`, &ask, ""},
		{"mcpx/v0.1", `["mcp/request:elicitation/create"]`, &ask, "mcp/request:elicitation/create"},
		{"mcpx/v0.1", `["mcp/request:notifications/*"]`, &tell, "mcp/request:notifications/x"},
		{"mcpx/v0.1", `["mcp/*"]`, &reject, "mcp/reject"},
		{"mcpx/v0.1", `["mcp/response:*","chat"]`, &reject, "chat"},
		{"mcpx/v0.1", `["mcp/response:*"]`, &reject, ""},
		{"mcpx/v0.1", ``, &long, "mcp/request:resources/read"},
		{"mew/v0.4", `[{"kind":"mcp/response"}]`, &answer, "mcp/response"},
		{"mew/v0.4", `[{"kind":"mcp/response"}]`, &ask, ""},
		{"mew/v0.4", `[{"kind":"mcp/request","payload":{"method":"tools/*"}}]`, &ask, "mcp/request"},
		{"mew/v0.4", `[{"kind":"chat"}]`, &reject, "chat"},
		{"mew/v0.4", `[{"kind":"mcp/response"}]`, &reject, ""},
		{"mcp-x/v0", ``, &answer, "mcp"},
		{"mcp-x/v0", `["chat"]`, &answer, "mcp"},
	} {
		got, err := lookup(t, c.protocol).Append(nil, c.e, caps(t, []byte(c.caps)))
		if c.kind == "" {
			if err != wire.ErrNotPermitted || len(got) != 0 {
				t.Errorf("%s with %s writes %s, %v; want ErrNotPermitted", c.protocol, c.caps, got, err)
			}
			continue
		}
		if kind := member1(t, got, "kind"); err != nil || kind != c.kind {
			t.Errorf("%s with %s says %.80q, %v; want %q", c.protocol, c.caps, kind, err, c.kind)
		}
	}
}

func member1(t *testing.T, frame []byte, name string) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(frame, &members); err != nil {
		t.Fatalf("%v in %q", err, frame)
	}
	s, _ := members[name].(string)
	return s
}

// A refusal leaves what was there before as it was.
func TestAppendLeavesDstOnError(t *testing.T) {
	dst := append(make([]byte, 0, 4096), "before"...)
	got, err := lookup(t, "mcpx/v0.1").Append(dst, &wire.Envelope{Kind: wire.Response, Corr: []string{"x"}}, wire.Caps{})
	if err != wire.ErrInexpressible || string(got) != "before" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestInexpressible(t *testing.T) {
	for _, c := range []struct {
		why, protocol string
		e             wire.Envelope
	}{
		{"a welcome is the gateway's", "mew/v0.4", wire.Envelope{Kind: wire.Greeting}},
		{"nobody knows the kind", "mew/v0.4", wire.Envelope{Kind: wire.Unknown, Spelled: "reasoning/thought"}},
		{"stream data is no frame", "mew/v0.4", wire.Envelope{Kind: wire.Stream, Key: "s"}},
		{"an order that is none", "mew/v0.4", wire.Envelope{Kind: wire.Control, Spelled: "mcp/request"}},
		{"a grant in mcpx/v0.1", "mcpx/v0.1", wire.Envelope{Kind: wire.Grant, Spelled: "capability/grant"}},
		{"a request without a method", "mcpx/v0.1", wire.Envelope{Kind: wire.Request}},
		{"a method with a colon", "mcpx/v0.1", wire.Envelope{Kind: wire.Request, Method: "a:b"}},
		{"a draft's suffix", "mcpx/v0.1", wire.Envelope{Kind: wire.Proposal, Method: "ack"}},
		{"what mew would take for a request", "mew/v0.4", wire.Envelope{Kind: wire.Notification, Method: "tools/list"}},
	} {
		if got, err := lookup(t, c.protocol).Append(nil, &c.e, wire.Caps{}); err != wire.ErrInexpressible {
			t.Errorf("%s: wrote %s, %v", c.why, got, err)
		}
	}
}

// A gateway passes a call of mew on to others and the answer back.
func TestCompleteCarriesMewAcross(t *testing.T) {
	mew, old := lookup(t, "mew/v0.4"), lookup(t, "mcpx/v0.1")
	ask, err := mew.Decode([]byte(`{"id":"c\"1","from":"bob","to":["fs"],"kind":"mcp/request","payload":{ "method":"tools/call","params":{"name":"read_file","n":1e400}}}`))
	if err != nil {
		t.Fatal(err)
	}
	full := ask.Complete(old, nil)
	there := across(t, old, &full)
	if there.Kind != wire.Request || there.Method != "tools/call" || there.Key != "read_file" || string(there.Message.Get(jsonrpc.ID)) != `"c\"1"` {
		t.Errorf("arrived as %s %s %s with the id %s", there.Kind, there.Method, there.Key, there.Message.Get(jsonrpc.ID))
	}
	if !bytes.Contains(there.Payload, []byte(`"params":{"name":"read_file","n":1e400}`)) || string(there.Message.Get(jsonrpc.Version)) != `"2.0"` {
		t.Errorf("the payload is %s", there.Payload)
	}
	if !bytes.Equal(full.Payload, full.Message.Raw) {
		t.Error("the message is not that of the payload")
	}

	answer, err := old.Decode([]byte(`{"id":"a1","from":"fs","to":["bob"],"kind":"mcp/response:tools/call:read_file","correlation_id":"c\"1","payload":{"jsonrpc":"2.0","id":"c\"1","result":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	full = answer.Complete(mew, nil)
	back := across(t, mew, &full)
	if back.Kind != wire.Response || back.Corr[0] != `c"1` || !bytes.Equal(back.Payload, answer.Payload) {
		t.Errorf("came back as %s to %q with %s", back.Kind, back.Corr, back.Payload)
	}
}

// An answer of mew, which names no method and may have no id, gets both from
// what the gateway remembers of the request.
func TestCompleteAnswersWithTheCallersID(t *testing.T) {
	mew, old := lookup(t, "mew/v0.4"), lookup(t, "mcpx/v0.1")
	for _, payload := range []string{`{"result":{"x":1.0}}`, `{"jsonrpc":"2.0","id":99,"result":{"x":1.0}}`, `{"id":"42","result":{"x":1.0}}`} {
		answer, err := mew.Decode([]byte(`{"id":"a1","from":"fs","to":["bob"],"kind":"mcp/response","correlation_id":["e1"],"payload":` + payload + `}`))
		if err != nil {
			t.Fatal(err)
		}
		full := answer.Complete(old, []byte("42"))
		full.Method, full.Key = "tools/call", "read_file"
		got := across(t, old, &full)
		if string(got.Message.Get(jsonrpc.ID)) != "42" || got.Method != "tools/call" || got.Key != "read_file" || string(got.Message.Get(jsonrpc.Result)) != `{"x":1.0}` {
			t.Errorf("%s arrived as %s %s with %s", payload, got.Method, got.Key, got.Payload)
		}
	}
}

func TestCompleteLeavesWhatIsComplete(t *testing.T) {
	e, err := lookup(t, "mcpx/v0.1").Decode([]byte(frame1()))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range wire.Dialects {
		full := e.Complete(d, nil)
		if &full.Payload[0] != &e.Payload[0] {
			t.Errorf("%s: the payload was rewritten: %s", d.Protocol, full.Payload)
		}
	}
	chat := wire.Envelope{Kind: wire.Chat, Payload: []byte(`{"text":"x"}`)}
	if full := chat.Complete(wire.Dialects[0], nil); string(full.Payload) != `{"text":"x"}` {
		t.Errorf("chat became %s", full.Payload)
	}
}

func across(t *testing.T, d wire.Dialect, e *wire.Envelope) wire.Envelope {
	t.Helper()
	frame, err := d.Append(nil, e, wire.Caps{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Decode(frame)
	if err != nil {
		t.Fatalf("%v in %s", err, frame)
	}
	return got
}

func TestJoin(t *testing.T) {
	frame := wire.AppendJoin(nil, "fs", "t1", `tok"en`)
	got, err := wire.ReadJoin(frame)
	if want := (wire.Join{ID: "fs", Space: "t1", Token: `tok"en`}); err != nil || got != want {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
	if strings.Contains(string(frame), "protocol") {
		t.Error("the universal join names a protocol")
	}
	for _, c := range []struct {
		frame string
		want  wire.Join
	}{
		{`{"protocol":"mew/v0.4","id":"join-caller","ts":"2026-11-20T23:00:53.340Z","from":"caller","kind":"system/join","payload":{"space":"bench","participantId":"caller","token":"T"}}`,
			wire.Join{ID: "caller", Space: "bench", Token: "T", Protocol: "mew/v0.4"}},
		{`{"type":"join","participantId":"a","space":"s","token":"T","payload":{"participantId":"b","space":"x","token":"y"}}`, wire.Join{ID: "a", Space: "s", Token: "T"}},
		{`{"kind":"system/join","payload":{"participant":"a"}}`, wire.Join{ID: "a"}},
		{`{"kind":"system/join"}`, wire.Join{}},
	} {
		if got, err := wire.ReadJoin([]byte(c.frame)); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.frame, got, err, c.want)
		}
	}
	for _, c := range []struct{ frame, reason string }{
		{`hello`, "json_syntax"}, {`[]`, wire.EnvelopeInvalid}, {frame1(), wire.EnvelopeInvalid},
		{`{"kind":"system/join","token":"a","token":"b"}`, "json_duplicate_key"}, {`{"kind":"system/join","token":7}`, wire.EnvelopeInvalid},
	} {
		_, err := wire.ReadJoin([]byte(c.frame))
		if refused, ok := err.(*wire.Refused); !ok || refused.Reason != c.reason {
			t.Errorf("%s: %v, want %s", c.frame, err, c.reason)
		}
	}
}

func TestValidID(t *testing.T) {
	for id, want := range map[string]bool{
		"fs": true, "A.b_c-9": true, strings.Repeat("x", 64): true, "gateway": true, "sys": true,
		"": false, strings.Repeat("x", 65): false, "a b": false, "a/b": false, "a:b": false, "é": false, "a\n": false,
		"system": false, "system:gateway": false, "systemd": false,
	} {
		if wire.ValidID(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}

// Detect tells the dialects by a first frame (WIRE 1.4).
func TestDetect(t *testing.T) {
	for frame, want := range map[string]string{
		`{"protocol":"mcp-x/v0","kind":"presence"}`:        "mcp-x/v0",
		`{"protocol":"mcpx/v0.1"}`:                         "mcpx/v0.1",
		`{"protocol":"meup/v0.2"}`:                         "meup/v0.2",
		`{"protocol":"mew/v0.3"}`:                          "mew/v0.3",
		`{"protocol":"mew/v0.12"}`:                         "mew/v0.12",
		`{"protocol":"meup/v0.1"}`:                         "meup/v0.1",
		`{"protocol":"mew/v1.0"}`:                          "",
		`{"protocol":"mew/v0."}`:                           "",
		`{"protocol":"mcp-x/v9","kind":"mcp"}`:             "",
		`{"protocol":7,"kind":"mcp"}`:                      "",
		`{"error":"Invalid message format","details":"x"}`: "",
		`{"kind":"system/error","payload":{"error":"x"}}`:  "mew/v0.4",
		`{"type":"welcome"}`:                               "mew/v0.4",
		`{"type":"error"}`:                                 "mew/v0.4",
		`{"type":"join"}`:                                  "",
		`{"kind":"mcp"}`:                                   "mcp-x/v0",
		`{"kind":"presence"}`:                              "mcp-x/v0",
		`{"kind":"system"}`:                                "mcp-x/v0",
		`{"kind":"mcp/request:tools/call:x"}`:              "mcpx/v0.1",
		`{"kind":"mcp/response:tools/call"}`:               "mcpx/v0.1",
		`{"kind":"mcp/proposal:tools/call"}`:               "mcpx/v0.1",
		`{"kind":"mcp/request"}`:                           "mew/v0.4",
		`{"kind":"chat"}`:                                  "mew/v0.4",
		`{"kind":"participant/pause"}`:                     "mew/v0.4",
		`{"kind":"system/welcome"}`:                        "mew/v0.4",
		`{"kind":"mcp.proposal.tools/call"}`:               "mcpx/v0.1",
		`{"kind":"mcpx.reject.proposal"}`:                  "mcpx/v0.1",
		`{"kind":"mcpx.status.proposal"}`:                  "mcpx/v0.1",
		`{"kind":"proposal"}`:                              "mcpx/v0.1",
		`{"kind":"proposal/withdraw"}`:                     "mcpx/v0.1",
		`{"kind":"chat.message"}`:                          "mcpx/v0.1",
		`{"kind":"hello"}`:                                 "",
		`{}`:                                               "",
		`[]`:                                               "",
		`hello`:                                            "",
		`#s#x`:                                             "mew/v0.4",
		`#s`:                                               "",
		`{"protocol":"mew/v0.4","protocol":"mcpx/v0.1"}`:   "",
	} {
		d, ok := wire.Detect([]byte(frame))
		if d.Protocol != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", frame, d.Protocol, ok, want)
		}
	}
}

// A stamp is what package time would write.
func TestStamp(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(0, 1), time.Unix(1_700_000_000, 999_999_999), time.Date(2026, 2, 28, 23, 59, 59, 12_345_678, time.FixedZone("", -9*3600))} {
		if got, want := wire.Stamp(at), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
