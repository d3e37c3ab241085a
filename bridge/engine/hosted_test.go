package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// hostedStage has a seat, and a server that its client has not greeted yet.
func hostedStage(t *testing.T) *stage {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, allowsSome), IDPrefix: "mcpx1n", Hosted: true})
	s.seat()
	s.frames, s.notes = nil, nil
	return s
}

func TestRequestsWaitForTheHost(t *testing.T) {
	s := hostedStage(t)
	s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
	s.call("carol", "e2", `1`, "delete_file", `{"path":"/a"}`)
	s.call("bob", "e3", `3`, "read_file", `{"path":"/c"}`)
	s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`) // again
	s.cancel("bob", "e4", `3`)
	s.nothing("before the host has greeted the server")
	s.pass(9 * time.Second)
	s.startServer()
	s.frames = s.frames[1:] // the tools have changed
	s.has(s.only(), `"code":-31004`, `"e2"`)
	if n := strings.Count(strings.Join(s.lines, "\n"), "tools/call"); n != 1 {
		t.Errorf("the server got %d calls: %q", n, s.lines)
	}
	s.has(s.lines[len(s.lines)-1], `{"path":"/a"}`)
	if !s.noted(record.Withdrawn, "cancelled") {
		t.Error("the cancelled one is not on record")
	}
	s.pass(2 * time.Second)
	s.nothing("when the time for waiting is over")
}

func TestRequestsDoNotWaitForTheHostForEver(t *testing.T) {
	s := hostedStage(t)
	s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
	s.pass(10 * time.Second)
	s.has(s.only(), `"code":-31007`, `"executed":"no"`, `own client has not initialized it`)
	for i := range 5 { // four are as many as there may be
		s.call("bob", fmt.Sprint("f", i), fmt.Sprint(i+10), "read_file", `{"path":"/a"}`)
	}
	s.has(s.only(), `"code":-31005`, `"f4"`)
	s.do(ServerDown{Cause: "exited", Retry: -1})
	if len(s.frames) != 4 {
		t.Errorf("%d of 4 were answered: %q", len(s.frames), s.frames)
	}
	s.frames = nil
	s.call("bob", "g", `1`, "read_file", `{"path":"/a"}`)
	s.has(s.only(), `"code":-31007`)
}

func TestWaitingRequestsHearThatWeStop(t *testing.T) {
	s := hostedStage(t)
	s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
	s.do(Stopping{})
	s.has(s.only(), `"code":-31006`)
	if s.idle != 1 {
		t.Error("not idle")
	}
}

// The host may have subscribed to the same resource.
func TestNobodyEndsASubscriptionOfTheHost(t *testing.T) {
	s := hostedStage(t)
	s.startServer()
	s.allowMethods()
	s.frames, s.lines = nil, nil
	s.arrive(`{"protocol":"mcpx/v0.1","id":"e1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:resources/subscribe:mem://a","payload":{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"mem://a"}}}`)
	s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
	s.frames, s.lines = nil, nil
	s.said(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mem://a"}}`)
	s.has(s.only(), `resources/updated`)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"e2","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:resources/unsubscribe:mem://a","payload":{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"mem://a"}}}`)
	s.has(s.only(), `"result":{}`)
	s.said(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mem://a"}}`)
	s.nothing("after the end of the subscription")
	if len(s.lines) > 0 {
		t.Errorf("the server was told %q", s.lines)
	}
}

func TestOccupied(t *testing.T) {
	s := hostedStage(t)
	s.startServer()
	if s.engine.Occupied() {
		t.Error("occupied by nobody")
	}
	s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
	if !s.engine.Occupied() {
		t.Error("not occupied by a call")
	}
	id := s.lastID()
	s.cancel("bob", "e2", `1`)
	if !s.engine.Occupied() {
		t.Error("not occupied by a call that may go on")
	}
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	if s.engine.Occupied() {
		t.Error("occupied by what is over")
	}
}
