package wire_test

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func fromGateway(t *testing.T, kind, payload string) *wire.Envelope {
	t.Helper()
	e, err := lookup(t, "mew/v0.4").Decode([]byte(`{"from":"system:gateway","kind":"` + kind + `","payload":` + payload + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return &e
}

func TestWelcomeThatIsNone(t *testing.T) {
	for _, payload := range []string{
		`{}`, `{"you":{}}`, `{"you":{"id":""}}`, `{"you":{"id":"system"}}`, `{"you":{"id":"a b"}}`, `{"you":"fs"}`, `{"You":{"id":"fs"}}`,
		`{"you":{"id":"fs"},"participants":{}}`, `{"participant_id":7}`,
	} {
		if w, err := fromGateway(t, "system/welcome", payload).Welcome(); err == nil {
			t.Errorf("%s welcomes %+v", payload, w)
		}
	}
	if _, err := fromGateway(t, "system/presence", `{"you":{"id":"fs"}}`).Welcome(); err == nil {
		t.Error("a presence welcomes")
	}
}

// Capabilities that cannot be read permit nothing; one element that cannot be
// read does not take the others with it.
func TestWelcomeWithOddCapabilities(t *testing.T) {
	w, err := fromGateway(t, "system/welcome", `{"you":{"id":"fs","capabilities":"all"},"participants":[{"id":"bob","capabilities":[7,"chat"]},{"id":"no one"},{"id":"carol","capabilities":null}]}`).Welcome()
	if err != nil || len(w.Peers) != 2 {
		t.Fatalf("%+v, %v", w, err)
	}
	if w.You.Caps.Predicts("chat") || !w.Peers[0].Caps.Predicts("chat") || w.Peers[0].Caps.Predicts("mcp/reject") || !w.Peers[1].Caps.Predicts("chat") {
		t.Errorf("capabilities read as %+v", w)
	}
	if raw := w.Peers[0].Caps.Raw(); string(raw) != `[7,"chat"]` {
		t.Errorf("kept as %s", raw)
	}
}

// History is what was: it never comes out as something to act on (O3).
func TestHistoryStaysInside(t *testing.T) {
	call := strings.ReplaceAll(frameN("mcp-x/v0", "mcp"), "\n", "")
	frame := `{"protocol":"mcp-x/v0","id":"w","from":"system:gateway","kind":"system","payload":{"type":"welcome","participant_id":"fs","participants":[],"history":[` + call + `]}}`
	e, err := lookup(t, "mcp-x/v0").Decode([]byte(frame))
	if err != nil || e.Kind != wire.Greeting || e.Method != "" || e.Message.Raw != nil {
		t.Errorf("read as %+v, %v", e, err)
	}
}

func TestPresenceThatIsNone(t *testing.T) {
	for _, payload := range []string{`{}`, `{"event":"join"}`, `{"event":"join","participant":{"id":"a b"}}`, `{"participant":{"id":"a"}}`, `{"event":1,"participant":{"id":"a"}}`} {
		if event, p, err := fromGateway(t, "system/presence", payload).Presence(); err == nil {
			t.Errorf("%s: %s of %+v", payload, event, p)
		}
	}
	event, p, err := fromGateway(t, "system/presence", `{"event":"update","participant":{"id":"a","kind":"robot","name":"A","capabilities":["chat"]}}`).Presence()
	if err != nil || event != "update" || p.Name != "A" || p.Role != "robot" || !p.Caps.Stated() {
		t.Errorf("%s of %+v, %v", event, p, err)
	}
}

func TestFaults(t *testing.T) {
	for payload, want := range map[string]wire.Fault{
		`{"error":"capability_violation","attempted_kind":"mcp/reject"}`:  {Code: "capability_violation", AttemptedKind: "mcp/reject"},
		`{"error":"auth_violation","message":"from is not you"}`:          {Code: "auth_violation", Message: "from is not you"},
		`{"error":"Message must be an object","code":"VALIDATION_ERROR"}`: {Code: "VALIDATION_ERROR", Message: "Message must be an object"},
		`{"type":"error","code":"full","message":"the topic is full"}`:    {Code: "full", Message: "the topic is full"},
	} {
		if f, err := fromGateway(t, "system/error", payload).Fault(); err != nil || f.Code != want.Code || f.Message != want.Message || f.AttemptedKind != want.AttemptedKind {
			t.Errorf("%s: %+v, %v", payload, f, err)
		}
	}
	if f, err := fromGateway(t, "system/error", `{"error":{}}`).Fault(); err == nil {
		t.Errorf("an object for an error: %+v", f)
	}
}

// A gateway tells everybody's capabilities in the form of the listener. What
// has no exact form is told too wide; the gateway enforces the real ones.
func TestWelcomeTranslatesCapabilities(t *testing.T) {
	const all = `["mcp/response:*","mcp/request:resources/read:file:///a*","chat",` +
		`{"kind":"mcp/request"},{"kind":"mcp/request","payload":{"method":"tools/call","params":{"name":"read_*"}}},` +
		`{"kind":"mcp/request","payload":{"method":"tools/*"}},{"kind":"mcp/request","payload":{"method":"!tools/call"}},` +
		`{"kind":"mcp/proposal","payload":{"params":{"x":1}}},{"kind":"mcp/request","payload":{"method":"resources/read","params":{"uri":"file:///b"}}},{"kind":"*"},{"kind":"participant/*"}]`
	w := wire.Welcome{You: wire.Participant{ID: "fs", Caps: caps(t, []byte(all))}}
	for protocol, want := range map[string]string{
		"mcpx/v0.1": `"capabilities":["mcp/response:*","mcp/request:resources/read:file:///a*","chat","mcp/request:*","mcp/request:tools/call:read_*",` +
			`"mcp/request:tools/*","mcp/proposal:*","mcp/request:resources/read:file:///b","*","participant/*"]`,
		"mew/v0.4": `"capabilities":[{"kind":"mcp/response"},{"kind":"mcp/request","payload":{"method":"resources/read","params":{"uri":"file:///a*"}}},{"kind":"chat"},` +
			`{"kind":"mcp/request"},{"kind":"mcp/request","payload":{"method":"tools/call","params":{"name":"read_*"}}},` +
			`{"kind":"mcp/request","payload":{"method":"tools/*"}},{"kind":"mcp/request","payload":{"method":"!tools/call"}},` +
			`{"kind":"mcp/proposal","payload":{"params":{"x":1}}},{"kind":"mcp/request","payload":{"method":"resources/read","params":{"uri":"file:///b"}}},{"kind":"*"},{"kind":"participant/*"},{"kind":"mcp/proposal"},{"kind":"mcp/withdraw"},`,
	} {
		if got := string(lookup(t, protocol).AppendWelcome(nil, "w", "", "t1", w, nil)); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", protocol, got, want)
		}
	}
}

func TestAlikeAndHandshake(t *testing.T) {
	d := wire.Dialects
	later, _ := wire.Lookup("mew/v0.9")
	for _, c := range []struct {
		a, b  wire.Dialect
		alike bool
	}{{d[0], d[0], true}, {d[0], d[1], false}, {d[1], d[4], false}, {d[2], d[4], true}, {d[3], later, true}, {wire.Dialect{}, d[4], false}, {wire.Dialect{}, d[0], false}} {
		if c.a.Alike(c.b) != c.alike || c.b.Alike(c.a) != c.alike {
			t.Errorf("%q and %q: %v", c.a.Protocol, c.b.Protocol, !c.alike)
		}
	}
	if !d[0].Handshake() || !d[1].Handshake() || d[4].Handshake() || (wire.Dialect{}).Handshake() {
		t.Error("who initializes is wrong")
	}
}

func TestErrorsAreSentences(t *testing.T) {
	for want, err := range map[string]error{
		"the gateway closed the connection (1008): Invalid token": &wire.CloseError{Code: 1008, Reason: "Invalid token"},
		"the gateway closed the connection (1006)":                &wire.CloseError{Code: 1006},
		"frame refused: id_charset":                               &wire.Refused{Reason: wire.IDCharset},
		"frame refused: id_charset: why":                          &wire.Refused{Reason: wire.IDCharset, Detail: "why"},
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	if wire.Kind(99).String() != "unknown" {
		t.Error("a kind out of range has a name")
	}
}
