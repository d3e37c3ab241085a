package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// longWord is longer than is read of what is no call: with 15 MiB of such escapes each
// of these held everybody up for a tenth of a second, or three (FINDINGS M3).
var longWord = strings.Repeat(`\n`, 128<<10)

// A withdrawal counts whatever else it says, and its reason then is none.
func TestALongReasonHeldEverybodyUp(t *testing.T) {
	for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
		s := proposalStage(t, protocol, "fulfil: ask")
		s.proposes("bob", "p1", "fs", "write_file", path, "")
		s.question()
		s.says("bob", "w1", wire.Withdraw, "", "", "p1", `{"reason":"no_longer_needed","detail":"`+longWord+`"}`)
		if len(s.engine.Pending(0, 0)) > 0 || !s.noted(record.Withdrawn, "") {
			t.Errorf("%s: the proposal was not withdrawn", protocol)
		}
		s.frames = nil
		s.proposes("bob", "p2", "fs", "write_file", path, `,"reason":"`+longWord+`"`)
		s.nobodyAsked(protocol)
		s.rejected("invalid")
	}
}

// No server's tool has such a name, so nothing is made of it: not even its digest.
func TestALongNameOfAToolHeldEverybodyUp(t *testing.T) {
	name := strings.Repeat("n", keyMax+1)
	everyDialect(t, asksAllButReads, func(s *stage) {
		s.sends1("e1", "tools/call", "", `{"name":"`+name+`","arguments":{}}`)
		s.refused(-32602, `"reason":"invalid_params"`, "the name of the tool is longer than 4096 bytes")
		s.sends1("e2", "tools/call", "", `{"name":"`+name[1:]+`","arguments":{}}`)
		s.refused(-32602, `"reason":"unknown_tool"`)
	})
	s := proposalStage(t, "mcpx/v0.1", "fulfil: policy")
	s.says("bob", "p1", wire.Proposal, "tools/call", "", "", `{"method":"tools/call","params":{"name":"`+name+`"}}`)
	s.rejected("invalid")
	s = gatedStage(t)
	s.hostSays(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{}}}`)
	if len(s.toldHost) != 1 || !strings.Contains(s.toldHost[0], "longer than 4096 bytes") || s.asked() > 0 {
		t.Errorf("the client hears %q", s.toldHost)
	}
}

// Who greets with more than anybody would is answered as one who asked for no revision.
func TestALongGreetingHeldEverybodyUp(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	for i, c := range []struct{ long, want string }{{"", "2025-03-26"}, {longWord, "2025-06-18"}} {
		s.sends1(fmt.Sprint("e", i), "initialize", "", `{"protocolVersion":"2025-03-26","clientInfo":{"name":"`+c.long+`"}}`)
		s.has(s.only(), `"result":{"protocolVersion":"`+c.want+`"`)
	}
	if len(s.lines) != 0 {
		t.Errorf("the server was troubled: %.100q", s.lines)
	}
}

// What the gateway or an orchestrator says at such length is not read, nor put on record.
func TestALongWordOfTheGatewayHeldEverybodyUp(t *testing.T) {
	s := newStage(t, "mew/v0.4")
	gateway := func(kind, payload string) {
		s.arrive(`{"protocol":"mew/v0.4","id":"g` + fmt.Sprint(len(s.notes)) + `","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/` + kind + `","payload":` + payload + `}`)
	}
	gateway("presence", `{"event":"join","participant":{"id":"zed","name":"`+longWord+`"}}`)
	gateway("error", `{"error":"capability_violation","message":"`+longWord+`"}`)
	s.arrive(`{"protocol":"mew/v0.4","id":"g9","ts":"2026-01-01T00:00:00Z","from":"carol","to":["fs"],"kind":"capability/grant","payload":{"recipient":"fs","capabilities":[],"x":"` + longWord + `"}}`)
	s.control("pause", `{"timeout_seconds":9,"reason":"`+longWord+`"}`)
	if s.engine.here("zed") || s.noted(record.Warning, "gateway_fault") || s.noted(record.Warning, "paused") || !s.noted(record.Dropped, "grant_too_large") || !s.noted(record.Dropped, "control_unreadable") {
		t.Error("it was read")
	}
	gateway("error", `{"error":"capability_violation","message":"`+strings.Repeat("a", 1000)+`"}`)
	if r := s.recorded(record.Warning); len(r) > 800 {
		t.Errorf("a record of %d bytes: %s", len(r), r)
	}
}

// A request for a tool at such length is taken for no proposal.
func TestALongRequestForAToolHeldEverybodyUp(t *testing.T) {
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{ToolsRequest: true, Policy: rules(t, allowsSome+"proposals: {fulfil: policy}\n")})
	s.seat()
	s.startServer()
	s.frames, s.lines, s.notes = nil, nil, nil
	s.sends1("e1", "tools/request", "", `{"name":"read_file","arguments":{"path":"/a"}}`)
	if s.asked() != 1 {
		t.Error("a short one did not run")
	}
	s.frames, s.lines = nil, nil
	s.sends1("e2", "tools/request", "", `{"name":"read_file","arguments":{"path":"`+strings.Repeat("a", approval.MaxAsked)+`"}}`)
	s.refused(-32601)
}

// What the server says at such length is passed over, or refused in few words.
func TestALongWordOfTheServerHeldEverybodyUp(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.said(`{"jsonrpc":"2.0","id":"srv-1","method":"` + longWord + `"}`)
	if len(s.lines) != 1 || len(s.lines[0]) > 200 || !strings.Contains(s.lines[0], `"code":-32601`) {
		t.Errorf("the server hears %.300q", s.lines)
	}
	s.said(`{"jsonrpc":"2.0","method":"` + longWord + `"}`)
	s.said(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + longWord + `"}}`)
	for _, r := range s.notes {
		if len(r.Method) > 200 {
			t.Errorf("a record has %d bytes of a method", len(r.Method))
		}
	}
	s.lines = nil
	id := s.withToken("bob", "e1")
	for _, c := range []struct {
		size  int
		heard int
	}{{progressMax / 2, 1}, {progressMax, 0}} {
		s.frames = nil
		s.said(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + id + `,"progress":1,"message":"` + strings.Repeat("a", c.size) + `"}}`)
		if len(s.frames) != c.heard {
			t.Errorf("of a progress of %d bytes %d frames came", c.size, len(s.frames))
		}
	}
}
