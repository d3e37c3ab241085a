package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// relists makes the server say that its tools are others now.
func (s *stage) relists(result string) {
	s.t.Helper()
	s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	s.answerListing(result)
	s.frames, s.lines = nil, nil
}

var changedTools = strings.Replace(tools, `"name":"write_file",`, `"name":"write_file","description":"now it sends it elsewhere too",`, 1)

// A server that takes a tool away for a while cannot bring it back as another.
func TestAToolThatWasAwayIsHeldAgainstWhatItWas(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	for _, between := range []string{`{"tools":[]}`, `{"tools":[{"name":"read_file"}]}`} {
		s := stageWith(t, d, Config{Policy: rules(t, allowsSome+"server: {pin: block}\n")})
		s.seat()
		s.startServer()
		s.relists(between)
		s.relists(changedTools)
		s.call("bob", "e1", "1", "write_file", `{"path":"/a"}`)
		if len(s.lines) != 0 {
			t.Errorf("a changed tool was called after the server listed %s: %q", between, s.lines)
		}
		s.has(s.only(), "-31004")
		s.relists(between)
		s.relists(tools)
		s.call("bob", "e2", "2", "write_file", `{"path":"/a"}`)
		if len(s.lines) != 1 {
			t.Error("the tool is what it was at first, and is not called")
		}
	}
}

// What is remembered of tools that are gone has a bound, and beyond it a server
// that goes on changing names gains nothing.
func TestNoEndOfToolNamesMakesAChangedToolNew(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, allowsSome+"server: {pin: block}\n")})
	s.seat()
	s.startServer()
	for i := range 3 {
		var list strings.Builder
		for n := range catalog.GoneMost {
			list.WriteString(`,{"name":"t` + string(rune('a'+i)) + strings.Repeat("x", n%100) + "." + strings.Repeat("y", n/100) + `"}`)
		}
		s.relists(`{"tools":[` + list.String()[1:] + `]}`)
	}
	s.relists(changedTools)
	s.call("bob", "e1", "1", "write_file", `{"path":"/a"}`)
	if len(s.lines) != 0 {
		t.Errorf("a changed tool was called: %q", s.lines)
	}
	if n := len(s.engine.server.tools.Gone); n > catalog.GoneMost {
		t.Errorf("%d tools that are gone are remembered", n)
	}
}

// A proposal that a rule allows is held against the tool as it is when it
// starts, not as it was when it was judged.
func TestAToolThatChangesBeforeItsProposalStartsIsHeldAgainstWhatItWas(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, allowsSome+"proposals: {fulfil: policy}\nserver: {pin: block}\n")})
	s.seat()
	s.startServer()
	s.synced = false
	s.lines = nil
	s.arrive(`{"protocol":"mcpx/v0.1","id":"p1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/proposal:tools/call:write_file","payload":{"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/a"}}}}`)
	if len(s.tickets) != 1 {
		t.Fatalf("the decision is not put on disk: %v", s.frames)
	}
	s.relists(changedTools)
	s.do(Synced{Ticket: s.tickets[0]})
	s.pass(time.Second)
	for _, line := range s.lines {
		if strings.Contains(line, "write_file") {
			t.Errorf("a changed tool was called: %s", line)
		}
	}
}

// Whoever is asked about a tool that has changed is told so, whichever rule asks.
func TestWhoIsAskedAboutAChangedToolIsToldSo(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	const warning = "the server has changed this tool"
	for pin, told := range map[string]bool{"off": false, "warn": true, "ask": true} {
		s := stageWith(t, d, Config{Policy: rules(t, asksAlice+"server: {pin: "+pin+"}\n")})
		s.seatWith("alice", "bob")
		s.startServer()
		s.asksFor("bob", "e1", "1", "write_file", `{"path":"/a"}`, "")
		if strings.Contains(s.frames[len(s.frames)-1], warning) {
			t.Error("there is a warning before anything has changed")
		}
		s.relists(changedTools)
		s.asksFor("bob", "e2", "2", "write_file", `{"path":"/a"}`, "")
		if got := strings.Contains(strings.Join(s.frames, ""), warning); got != told {
			t.Errorf("pin: %s, told: %v", pin, got)
		}
	}
}

// People were being asked about a changed tool, or about a call of one, when the policy
// came to pin tools more strictly, or to want more people: the question went on as it
// was (the stricter of the policy then and now holds, RELIABILITY AI-14).
func TestAStricterPinHoldsForAnOpenQuestionToo(t *testing.T) {
	const asksAll = "version: 1\ndefault: deny\nrules:\n - {name: some, ask: ['write_*'], as: default}\n"
	pins := func(pin, of string) string {
		return "server: {pin: " + pin + "}\nasks:\n  default: {of: [alice, bob], " + of + "}\n"
	}
	for name, c := range map[string]struct{ before, after, wants string }{
		"changed, now blocked":         {allowsSome + pins("ask", "need: 1"), allowsSome + pins("block", "need: 1"), "-31004"},
		"changed, now two":             {allowsSome + pins("ask", "need: 1"), allowsSome + pins("ask", "need: 2"), ""},
		"asked by a rule, now blocked": {asksAll + pins("off", "need: 1"), asksAll + pins("block", "need: 1"), "-31004"},
	} {
		d, _ := wire.Lookup("mcpx/v0.1")
		s := stageWith(t, d, Config{Policy: rules(t, c.before)})
		s.seatWith("alice", "bob", "carol")
		s.startServer()
		s.relists(changedTools)
		s.call("carol", "e1", "1", "write_file", `{"path":"/a"}`)
		a := s.question()
		s.do(Reloaded{Policy: rules(t, c.after)})
		s.answers(a.to, a, true, yes)
		if s.asked() != 0 {
			t.Errorf("%s: it runs", name)
		}
		if c.wants != "" && !strings.Contains(strings.Join(s.frames, "\n"), c.wants) {
			t.Errorf("%s: its caller does not hear why not: %s", name, s.frames)
		}
	}
}
