package engine

import (
	"errors"
	"strings"
	"testing"
)

const oneRead = "version: 1\ndefault: deny\nrules:\n - {name: some, allow: ['read_*'], limit: {count: 1/day}}\n"

var oneWrite = strings.Replace(asksAlice, `ask: ["write_*"], as: write`, `ask: ["write_*"], as: write, limit: {count: 1/day, over: deny}`, 1)

// Nobody waited any more for a call, by the time it came out that it never left: its place in a
// limit was gone all the same.
func TestACallThatNeverLeftTakesNothingFromALimit(t *testing.T) {
	for how, ends := range map[string]func(s *stage){
		"its caller took it back": func(s *stage) { s.cancel("bob", "c1", "1") },
		"its time was over":       func(s *stage) { s.pass(s.engine.timeout) },
		"it was still wanted":     func(*stage) {},
	} {
		for why, lost := range map[string]func(call uint64) Event{
			"its line was not taken":   func(call uint64) Event { return NotWritten{Call: call, Err: errors.New("full")} },
			"its start is not on disk": func(call uint64) Event { return Unrecorded{Calls: []uint64{call}, Err: errors.New("full")} },
		} {
			s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, oneRead)})
			s.seat()
			s.startServer()
			s.call("bob", "e1", "1", "read_file", `{"path":"a"}`)
			call := s.writes[len(s.writes)-1].Call
			ends(s)
			s.do(lost(call))
			s.do(AuditUp{})
			s.lines = nil
			s.call("bob", "e2", "2", "read_file", `{"path":"a"}`)
			if s.asked() != 1 {
				t.Errorf("%s, %s: the next is refused: %s", how, why, s.frames)
			}
		}
	}
}

// What its caller takes back as it waits to start kept its place in a limit until then.
func TestACallThatIsTakenBackBeforeItStartsTakesNothingFromALimit(t *testing.T) {
	s := modernStage(t, oneWrite, `{"tools":{}}`)
	s.write()
	s.answers("alice", s.question(), true, yes) // it waits for the tools to be read once more
	s.takesBack("bob", "c1", "7", "e7")
	s.frames = nil
	s.asksFor("bob", "e8", "8", "write_file", `{"path":"/a","text":"x"}`, "")
	if _, asked := s.maybeQuestion(); !asked {
		t.Errorf("nobody is asked about the next: %s", s.frames)
	}
}
