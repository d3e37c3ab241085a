package engine

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// beyondReading are arguments of which building the question held everybody up
// (FINDINGS M3).
var beyondReading = map[string]string{
	"one long text":    `{"path":"` + strings.Repeat("a", approval.MaxAsked) + `"}`,
	"many values":      `{"path":"/a","all":[` + times("1", approval.MaxAskedValues) + `]}`,
	"many empty lists": `{"path":"/a","all":[` + times("[]", approval.MaxAskedValues) + `]}`,
	"one long number":  `{"path":"/a","n":` + strings.Repeat("7", approval.MaxAsked) + `}`,
	"one long key":     `{"path":"/a","` + strings.Repeat("k", approval.MaxAsked) + `":1}`,
	"white space":      `{"path":"/a"` + strings.Repeat(" ", approval.MaxAsked) + `}`,
}

const asksAllButReads = "version: 1\ndefault: ask\nasks: {default: {of: [alice, local], within: 1m, remember: [once, session]}}\n" +
	"rules:\n - {name: reads, allow: ['read_*']}\n - {name: never, deny: [deploy]}\n - {name: files, ask: ['*'], methods: [resources/read]}\n"

// nobodyAsked checks that nothing ran and nobody was bothered.
func (s *stage) nobodyAsked(what string) {
	s.t.Helper()
	if s.asked() != 0 || len(s.lines) != 0 {
		s.t.Errorf("%s: it ran", what)
	}
	if _, ok := s.maybeQuestion(); ok || len(s.shown) > 0 || len(s.engine.Pending(0, 0)) > 0 {
		s.t.Errorf("%s: somebody was asked", what)
	}
}

func TestAQuestionThatNobodyCouldReadIsNotPut(t *testing.T) {
	for what, args := range beyondReading {
		everyDialect(t, asksAllButReads, func(s *stage) {
			s.asksFor("bob", "e1", "1", "write_file", args, "")
			s.nobodyAsked(what)
			s.refused(-31013, `"reason":"too_large"`, `"retryable":false`)
			s.sends1("e2", "resources/read", "file:///a", `{"uri":"file:///a","more":`+args+`}`)
			s.nobodyAsked(what + ", a read")
			s.refused(-31013)
			s.asksFor("bob", "e3", "3", "read_file", `{"path":"/a"}`, `"task":`+args+`,`)
			s.nobodyAsked(what + ", beside what is allowed")
			s.refused(-31013)
			s.asksFor("bob", "e4", "4", "deploy", `{"target":"staging"}`, `"task":`+args+`,`)
			s.refused(-31004)
		})
	}
}

func TestAProposalThatNobodyCouldReadIsRejected(t *testing.T) {
	for what, args := range beyondReading {
		for _, fulfil := range []string{"fulfil: ask", "fulfil: policy"} {
			s := proposalStage(t, "mcpx/v0.1", fulfil)
			s.proposes("bob", "p1", "fs", "write_file", args, "")
			s.nobodyAsked(what)
			s.rejected("resource_limit")
		}
	}
}

func TestACallOfTheClientsThatNobodyCouldReadIsNotPut(t *testing.T) {
	s := gatedStage(t)
	s.hostSays(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"task":` + beyondReading["one long text"] + `,"name":"read_file","arguments":{"path":"/a"}}}`)
	s.nobodyAsked("the client's own")
	if len(s.toldHost) != 1 || !strings.Contains(s.toldHost[0], `"isError":true`) || !strings.Contains(s.toldHost[0], "nobody can be asked") {
		t.Errorf("the client hears %q", s.toldHost)
	}
}

// What needs no person is not bound by what people can read, and what they can is put.
func TestWhatNobodyNeedReadMayBeLong(t *testing.T) {
	everyDialect(t, asksAllButReads, func(s *stage) {
		s.asksFor("bob", "e1", "1", "read_file", beyondReading["one long text"], "")
		s.crossed(beyondReading["one long text"])
		s.lines, s.frames = nil, nil
		most := `{"path":"` + strings.Repeat("a", approval.MaxAsked-len(`{"path":""}`)) + `"}`
		s.asksFor("bob", "e2", "2", "write_file", most, "")
		s.answers("alice", s.question(), true, yes)
		s.crossed(most)
		s.lines, s.frames = nil, nil
		many := `{"path":"/a","all":[` + times("1", approval.MaxAskedValues-3) + `]}`
		s.asksFor("bob", "e3", "3", "write_file", many, "")
		s.answers("alice", s.question(), true, yes)
		s.crossed(many)
	})
}

// Two long proposals that ask for the same are known for one.
func TestALongProposalIsADuplicateOfItself(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", "fulfil: policy")
	for _, id := range []string{"p1", "p2"} {
		s.proposes("bob", id, "fs", "read_file", beyondReading["one long text"], "")
	}
	if s.asked() != 1 {
		t.Errorf("it ran %d times", s.asked())
	}
	s.rejected("duplicate")
}

// An approver's answer that names every argument again and again was held against each
// of them (FINDINGS M3).
func TestAnAnswerLongerThanAnyQuestionIsNoYes(t *testing.T) {
	everyDialect(t, asksAlice, func(s *stage) {
		s.write()
		s.answers("alice", s.question(), true, `{"action":"accept","content":{"approve":true,"reason":"`+strings.Repeat("a", approval.MaxAsked)+`"}}`)
		s.refused(-31001, `"reason":"invalid_answer"`)
	})
}
