package desktop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// comes has fs come, list one tool, and say who it is.
func (s *stage) comes(tool, hello string) {
	s.t.Helper()
	s.step(desktop.Came{Peer: desktop.Peer{ID: "fs"}})
	if s.greets {
		s.answer(s.open("initialize"), hello)
	}
	s.answer(s.open("tools/list"), list(tool))
	if !s.greets {
		s.answer(s.open("initialize"), hello)
	}
	s.serveLists(nil)
}

const (
	notes1 = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"},"_meta":{"mcpx/provides":["notes","to-do"]}}`
	notes2 = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"no\u200btes","version":"2"}}`
)

// When one server left and another took its id, nobody could see it: the names were the same
// (FINDINGS P2).
func TestAnotherServerInTheSameSeatIsSeen(t *testing.T) {
	for _, greets := range []bool{false, true} {
		s := newStage(t, desktop.Config{})
		s.meet(`{}`)
		s.step(desktop.Seated{Me: "me", Topic: "lobby", Greet: greets})
		s.comes(tool("read"), notes1)
		s.call(1, "mcpx_peers", `{}`)
		if line := s.one(`"text":"fs (notes 1, for notes, to-do): read"`, `"server":{"name":"notes","version":"1","provides":["notes","to-do"]}`); strings.Contains(line, `"seat"`) {
			t.Errorf("somebody sat there before: %s", line)
		}
		s.step(desktop.Left{ID: "fs"})
		s.pass(10 * time.Minute) // it is forgotten by then, and its seat is not
		s.heard()
		s.comes(tool("read"), notes2)
		s.call(2, "mcpx_peers", `{}`)
		s.one(`fs (no\\u{200b}tes 2): read\n  another server than before, which was notes 1, for notes, to-do\n  the server that was there left; this one came at 2027-01-15T0`, `"server":{"name":"no\\u{200b}tes","version":"2"}`, `"seat":["another server than before`)
		if notes := strings.Join(s.notes, "\n"); strings.Count(notes, "another server sits at fs now: no\\u{200b}tes 2; before it was notes 1, for notes, to-do") != 1 {
			t.Errorf("told: %s", notes)
		}

		// One that comes back as it was is no other; that it came is all that can be said.
		s.step(desktop.Left{ID: "fs"})
		s.comes(tool("read"), notes2)
		s.call(3, "mcpx_peers", `{}`)
		if line := s.one("the server that was there left; this one came at"); strings.Contains(line, "another") || len(s.notes) != 1 {
			t.Errorf("it is another: %s %q", line, s.notes)
		}
		// Other tools are told even where the server says that it is the same.
		s.pass(time.Second)
		s.heard()
		s.step(desktop.Left{ID: "fs"})
		s.comes(tool("write"), notes2)
		s.pass(time.Second)
		s.one("notifications/tools/list_changed")
		if notes := strings.Join(s.notes, "\n"); len(s.notes) != 2 || !strings.Contains(notes, "fs left and came back with other tools; another server may sit there now") {
			t.Errorf("told: %s", notes)
		}
	}
}

// Our own link going down is nobody's leaving, and a list that changes is no other server.
func TestNobodyIsAnotherForOurOwnLink(t *testing.T) {
	s := newStage(t, desktop.Config{})
	s.step(desktop.Seated{Me: "me", Topic: "lobby"})
	s.comes(tool("read"), notes1)
	s.step(desktop.Unseated{Why: "it broke"})
	s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "fs"}}})
	s.serveLists(map[string][]string{"fs": {tool("write")}})
	s.step(desktop.Noticed{From: "fs", Method: "notifications/tools/list_changed"})
	s.pass(time.Second)
	s.serveLists(map[string][]string{"fs": {tool("read")}})
	s.call(1, "mcpx_peers", `{}`)
	if line := s.one("fs (notes 1"); strings.Contains(line, `"seat"`) || len(s.notes) > 0 {
		t.Errorf("%s %q", line, s.notes)
	}
}

// Who offers nothing is not asked who it is, and who does not say costs nobody anything.
func TestWhoSaysNothingOfItselfIsOfferedAllTheSame(t *testing.T) {
	for _, hello := range []string{`{}`, `{"serverInfo":7}`, `{"serverInfo":{}}`, `{"serverInfo":{"name":7,"Name":"x"}}`, `7`, `{"serverInfo":{"name":"x","name":"y"}}`, `{"serverInfo":{"name":"` + strings.Repeat("x", 500) + `"}}`} {
		s := newStage(t, desktop.Config{})
		s.step(desktop.Seated{Me: "me", Topic: "lobby", Peers: []desktop.Peer{{ID: "alice"}}})
		s.serveLists(nil)
		s.none("initialize")
		s.comes(tool("read"), hello)
		if names := s.shown(); len(names) != 1 {
			t.Errorf("%s: shown %q", hello, names)
		}
		s.call(1, "mcpx_peers", `{}`)
		if line := s.one(`"tools":["read"]`); len(line) > 700 {
			t.Errorf("%s: %s", hello, line)
		}
	}
	s := newStage(t, desktop.Config{})
	s.step(desktop.Seated{Me: "me", Topic: "lobby"})
	s.step(desktop.Came{Peer: desktop.Peer{ID: "fs"}})
	s.answer(s.open("tools/list"), list(tool("read")))
	s.pass(time.Minute) // it never says
	s.heard()
	s.step(desktop.Left{ID: "fs"})
	s.pass(10 * time.Second)
	s.none("initialize")
}
