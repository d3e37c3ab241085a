package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// doubting is a stage where the person at this machine is asked, and nobody is taken at
// their word for who they are unless the gateway makes sure.
func doubting(t *testing.T, protocol string) *stage {
	t.Helper()
	rulesText := strings.NewReplacer("of: [alice]", "of: [local]", "fulfil: ask", "fulfil: ask, broadcast: true").Replace(raceRules)
	s := stageWith(t, lookup(t, protocol), Config{Policy: rules(t, rulesText), Local: true})
	s.seatWith("bob", "carol", "dave", "mallory")
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.answerListing(moreTools)
	s.frames, s.lines, s.notes = nil, nil, nil
	return s
}

// open is how many questions there are.
func (s *stage) open() int { return len(s.engine.Pending(0, 9)) }

// takenByCarol has bob propose a write to all, and mallory request it of carol.
func (s *stage) takenByCarol() {
	s.t.Helper()
	s.proposes("bob", "p1", "", "write_file", path, "")
	if s.open() != 1 {
		s.t.Fatalf("%s: nobody is asked: %v", s.dialect.Protocol, s.notes)
	}
	s.frameTo("mallory", "carol", "r1", "p1", "write_file", path)
	if s.open() != 0 || !s.noted(record.Taken, "") {
		s.t.Fatalf("%s: it is not taken", s.dialect.Protocol)
	}
}

// Where nobody makes sure who speaks, anybody can say that carol has left, and that nobody
// was there: people were asked again while she served it (FINDINGS A8). Where it is made
// sure of, that is the gateway's own word.
func TestAForgedLeaveReopenedWhatSomebodyServes(t *testing.T) {
	for protocol, forgeable := range map[string]bool{"mew/v0.4": true, "meup/v0.2": true, "mcpx/v0.1": false} {
		s := doubting(t, protocol)
		s.takenByCarol()
		s.goes2("carol")
		s.pass(leaveGrace)
		s.absent("system:gateway", "")
		if !forgeable {
			if s.open() != 1 || !s.noted(record.Reopened, "") {
				t.Errorf("%s: carol has left, and it does not come back", protocol)
			}
			continue
		}
		if s.frameTo("dave", "fs", "r2", "p1", "write_file", path); s.open() != 0 || s.noted(record.Reopened, "") {
			t.Errorf("%s: it is ours again since somebody says that carol has left", protocol)
		}
		if !s.noted(record.Security, "leave_unverified") {
			t.Errorf("%s: it is not on record", protocol)
		}
	}
}

// It is forged as easily that whom a proposal prefers is gone: it was ours before its time.
func TestAForgedLeaveMadeAProposalOursBeforeItsTime(t *testing.T) {
	for protocol, forgeable := range map[string]bool{"mew/v0.4": true, "mcpx/v0.1": false} {
		s := doubting(t, protocol)
		s.proposes("bob", "p1", "", "write_file", path, `,"targeting":{"preferred":["carol"],"fallback_timeout":60000}`)
		s.goes2("carol")
		if s.pass(leaveGrace); (s.open() == 1) == forgeable {
			t.Errorf("%s: %d are asked when somebody says that carol has left", protocol, s.open())
		}
		if s.pass(time.Minute); s.open() != 1 {
			t.Errorf("%s: nobody is asked when its time has come", protocol)
		}
	}
}

// What was answered was reopened when whoever had answered left: which of two requests
// under one id the answer was to nobody knew, so that it counted for neither.
func TestALeaveReopenedWhatHadBeenAnswered(t *testing.T) {
	for _, protocol := range []string{"mew/v0.4", "mcpx/v0.1"} {
		s := takenStage(t, protocol)
		s.frameTo("mallory", "carol", "r1", "p7", "nope", `{}`)
		s.frames = nil
		s.refuses("mallory")
		if !s.noted(record.Security, "answer_to_one_of_several") {
			t.Fatalf("%s: it is not told that the answer is to one of several", protocol)
		}
		s.goes2("carol")
		s.pass(leaveGrace)
		s.staysTaken("she has answered, and left")
	}
}
