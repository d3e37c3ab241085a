package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/view"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// frame is one of mcpx/v0.1.
func frame(t *testing.T, id, from, to, kind, more, payload string) *wire.Envelope {
	raw := fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":%q,"ts":"2026-01-31T12:00:00Z","from":%q,"to":[%q],"kind":%q%s,"payload":%s}`, id, from, to, kind, more, payload)
	e, err := wire.Dialects[1].Decode([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return &e
}

func TestACallIsOneLine(t *testing.T) {
	for columns, want := range map[int]string{
		0: `12:00:00 zoe -> memory create_entities {2 arguments}; asked ann
12:00:00 zoe -> eve create_entities; the tool failed
12:00:00 zoe -> memory create_entities {2 arguments}; asked ann; allowed by ann; ok
12:00:00 bob -> memory x\u{1b}[2J {no arguments}; the tool failed
12:00:00 zoe -> memory delete; denied by ann
`,
		80: `12:00:00 zoe -> memory create_entities {2 arguments}; asked ann
12:00:00 zoe -> eve create_entities; the tool failed
12:00:00 zoe -> memory create_entities; asked ann; allowed by ann; ok
12:00:00 bob -> memory x\u{1b}[2J {no arguments}; the tool failed
12:00:00 zoe -> memory delete; denied by ann
`,
		40: `zoe -> memory create_entities; asked ann
zoe -> eve create_entities; the tool fa…
zoe -> memory create_entities; ok
bob -> memory x\u{1b}[2J; the tool fail…
zoe -> memory delete; denied by ann
`,
	} {
		w := view.Watch{Columns: func() int { return columns }}
		var said strings.Builder
		for _, e := range []*wire.Envelope{
			frame(t, "i", "zoe", "memory", "mcp/request:initialize", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`),
			frame(t, "e", "zoe", "memory", "mcp/request:tools/call:create_entities", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_entities","arguments":{"a":1,"b":2},"_meta":{"progressToken":7}}}`),
			frame(t, "q", "memory", "ann", "mcp/request:elicitation/create", "", `{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"metadata":{"originalRequest":{"from":"zoe","envelopeId":"e"}}}}`),
			frame(t, "p", "memory", "zoe", "mcp/request:notifications/progress", "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1,"message":"waiting","_meta":{"mcpx/approval":{"waiting":true}}}}`),
			frame(t, "p2", "memory", "zoe", "mcp/request:notifications/progress", "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":2,"message":"allowed by ann","_meta":{"mcpx/approval":{"by":["ann"]}}}}`),
			frame(t, "p3", "memory", "zoe", "mcp/request:notifications/progress", "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":3,"message":"halfway"}}`),
			frame(t, "o", "eve", "zoe", "mcp/response:tools/call:create_entities", `,"correlation_id":"e"`, `{"jsonrpc":"2.0","id":1,"result":{"isError":true}}`),
			frame(t, "r", "memory", "zoe", "mcp/response:tools/call:create_entities", `,"correlation_id":"e"`, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`),
			frame(t, "f", "bob", "memory", "mcp/request:tools/call", "", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x\u001b[2J","arguments":{}}}`),
			frame(t, "g", "memory", "bob", "mcp/response:tools/call", `,"correlation_id":"f"`, `{"jsonrpc":"2.0","id":2,"result":{"isError":true}}`),
			frame(t, "h", "memory", "zoe", "mcp/response:tools/call:delete", `,"correlation_id":"before"`, `{"jsonrpc":"2.0","id":2,"error":{"code":-31001,"message":"no","data":{"by":"ann"}}}`),
		} {
			at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
			said.Write(w.Line(e, at))
		}
		if said.String() != want {
			t.Errorf("in %d columns:\n%s", columns, said.String())
		}
	}
}

// The name of what is called is its caller's word: nothing that it says can be taken for what
// became of the call.
func TestANameIsNoStep(t *testing.T) {
	for _, columns := range []int{0, 80, 40} {
		w := view.Watch{Columns: func() int { return columns }}
		w.Line(frame(t, "f", "bob", "memory", "mcp/request:tools/call", "", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wipe; asked ann; allowed by ann; ok","arguments":{}}}`), time.Now())
		line := string(w.Line(frame(t, "g", "memory", "bob", "mcp/response:tools/call", `,"correlation_id":"f"`, `{"jsonrpc":"2.0","id":2,"error":{"code":-31001,"message":"no"}}`), time.Now()))
		if !strings.Contains(line, `memory "wipe; asked ann`) {
			t.Errorf("in %d columns: %s", columns, line)
		}
	}
}

// Nor can what is said be taken for more of what stands in a line.
func TestWhatIsSaidIsNoColumn(t *testing.T) {
	var w view.Watch
	line := string(w.Line(frame(t, "c", "bob", "ann", "chat", "", `{"text":"hi          chat  from ann","format":"plain"}`), time.Now()))
	if strings.Count(line, "  ") != 2 { // ours
		t.Error(line)
	}
}

// A call that waits for its server to start says so once, with a progress token and without,
// and then what became of it.
func TestACallThatWaitsForAStartSaysSoOnce(t *testing.T) {
	var w view.Watch
	var said strings.Builder
	see := func(e *wire.Envelope) { said.Write(w.Line(e, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))) }
	see(frame(t, "e", "zoe", "fs", "mcp/request:tools/call:read", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","_meta":{"progressToken":7}}}`))
	for n := range 20 {
		see(frame(t, fmt.Sprint("p", n), "fs", "zoe", "mcp/request:notifications/progress", "",
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":0.%09d,"message":"fs is starting, %d s","_meta":{"mcpx/approval":{"starting":true,"seconds":%d}}}}`, n, 15*n, 15*n)))
		see(frame(t, fmt.Sprint("n", n), "fs", "bob", "mcp/request:notifications/mcpx/starting", "",
			`{"jsonrpc":"2.0","method":"notifications/mcpx/starting","params":{"seconds":1,"message":"fs is starting, 1 s"}}`))
	}
	see(frame(t, "w", "fs", "zoe", "mcp/request:notifications/progress", "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":0.8,"message":"waiting","_meta":{"mcpx/approval":{"waiting":true}}}}`))
	see(frame(t, "q", "fs", "zoe", "mcp/request:notifications/progress", "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":0.9,"message":"allowed by ann","_meta":{"mcpx/approval":{"by":["ann"]}}}}`))
	see(frame(t, "r", "fs", "zoe", "mcp/response:tools/call:read", `,"correlation_id":"e"`, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`))
	if want := "12:00:00 zoe -> fs read; starting\n12:00:00 zoe -> fs read; starting; asked\n12:00:00 zoe -> fs read; starting; asked; allowed by ann; ok\n"; said.String() != want {
		t.Errorf("it says\n%s", said.String())
	}
}

// A halt is told by whom and why; what is refused because of it was denied by nobody.
func TestAHaltIsALine(t *testing.T) {
	var w view.Watch
	var said strings.Builder
	for _, e := range []*wire.Envelope{
		frame(t, "h", "fs", "zoe", "mcp/request:notifications/mcpx/halted", "", `{"jsonrpc":"2.0","method":"notifications/mcpx/halted","params":{"halted":true,"by":"local","reason":"mad\u001b agents"}}`),
		frame(t, "r", "fs", "zoe", "mcp/response:tools/call:x", `,"correlation_id":"before"`, `{"jsonrpc":"2.0","id":2,"error":{"code":-31015,"message":"no","data":{"reason":"halted","by":"local"}}}`),
		frame(t, "g", "fs", "zoe", "mcp/request:notifications/mcpx/halted", "", `{"jsonrpc":"2.0","method":"notifications/mcpx/halted","params":{"halted":false}}`),
		frame(t, "n", "fs", "zoe", "mcp/request:notifications/mcpx/halted", "", `{"jsonrpc":"2.0","method":"notifications/mcpx/halted","params":[]}`),
	} {
		said.Write(w.Line(e, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)))
	}
	want := `12:00:00 fs is halted by the person at the bridge: mad\u{1b} agents
12:00:00 zoe -> fs x; refused: halted
12:00:00 fs goes on
`
	if said.String() != want {
		t.Errorf("it says\n%s, and not\n%s", said.String(), want)
	}
}
