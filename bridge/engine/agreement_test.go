package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func TestATightenedQuestionCanStillBeAgreedTo(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	two := strings.Replace(asksAlice, "{of: [alice], within: 60s}", "{of: [alice, carol], within: 60s}", 1)
	s := askingStage(t, d, two)
	s.write()
	a, c := s.question(), s.question()
	if a.to != "alice" {
		a, c = c, a
	}
	s.do(Reloaded{rules(t, asksAlice)}) // carol may not any more
	s.answers("carol", c, true, yes)
	if s.asked() != 0 {
		t.Fatal("carol decided")
	}
	s.answers("alice", a, true, yes)
	s.crossed(`{"path":"/a","text":"x"}`)

	s = askingStage(t, d, two)
	s.write()
	a, c = s.question(), s.question()
	if a.to != "alice" {
		a, c = c, a
	}
	s.do(Reloaded{rules(t, strings.Replace(two, "carol], within", "carol], need: 2, within", 1))})
	s.answers("alice", a, true, yes)
	if s.asked() != 0 {
		t.Fatal("one was enough")
	}
	s.answers("carol", c, true, yes)
	s.crossed(`{"path":"/a","text":"x"}`)
}

func TestAQuestionDoesNotStandInItsOwnWayAtAReload(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	limited := strings.Replace(asksAlice, `ask: ["write_*"], as: write`, `ask: ["write_*"], as: write, limit: {count: 1/day, per: caller, over: deny}`, 1)
	s := askingStage(t, d, limited)
	s.write()
	a := s.question()
	s.do(Reloaded{rules(t, limited)})
	s.answers("alice", a, true, yes)
	s.crossed(`{"path":"/a","text":"x"}`)
}

const remembers = `
version: 1
default: deny
asks: {default: {of: [alice, carol], within: 60s, remember: [once, session, always]}}
rules: [{name: writes, ask: ["write_*"]}]
`

const always = `{"action":"accept","content":{"approve":true,"remember":"always"}}`

// grantedStage is one where alice or carol has agreed for good; if restarted,
// before the bridge was.
func grantedStage(t *testing.T, restarted bool) *stage {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, remembers)
	s.write()
	a := s.question()
	s.answers(a.to, a, true, always)
	s.crossed(`{"path":"/a","text":"x"}`)
	g := s.engine.Grants(s.now)
	if len(g) != 1 {
		t.Fatal(g)
	}
	if restarted {
		text, err := approval.WriteGrants(g)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := approval.ReadGrants("grants", text)
		if err != nil {
			t.Fatal(err)
		}
		s = askingStageWith(t, d, Config{Policy: rules(t, remembers), Desk: approval.Options{Grants: kept}})
	}
	s.frames, s.lines, s.notes = nil, nil, nil
	return s
}

func inEachLife(t *testing.T, f func(*testing.T, *stage)) {
	for name, restarted := range map[string]bool{"the same run": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) { f(t, grantedStage(t, restarted)) })
	}
}

func (s *stage) again() {
	s.t.Helper()
	s.asksFor("bob", "e8", "8", "write_file", `{"path":"/a","text":"x"}`, "")
}

// asksAgain: the same call is put to people, and the record says why.
func (s *stage) asksAgain(reason string) {
	s.t.Helper()
	s.again()
	if s.asked() != 0 {
		s.t.Error("it ran unasked")
	}
	if _, put := s.maybeQuestion(); !put {
		s.t.Error("nobody is asked")
	}
	for _, r := range s.notes {
		if r.Event == record.Asked && r.Unasked {
			s.t.Errorf("somebody is asked: %+v", r)
		}
	}
	if reason != "" && !s.noted(record.GrantUnused, reason) {
		s.t.Errorf("the record does not say %s: %+v", reason, s.notes)
	}
}

func TestALastingYesLasts(t *testing.T) {
	inEachLife(t, func(t *testing.T, s *stage) {
		s.again()
		s.crossed(`{"path":"/a","text":"x"}`)
		for _, r := range s.notes {
			if r.Event == record.Decided && len(r.By) != 1 {
				t.Errorf("the record does not say who agreed: %+v", r)
			}
			if r.Event == record.Asked && !r.Unasked {
				t.Errorf("nobody was asked: %+v", r)
			}
		}
	})
}

func TestAI18ALastingYesEndsWithTheTermsItWasGivenUnder(t *testing.T) {
	inEachLife(t, func(t *testing.T, s *stage) {
		s.do(Reloaded{rules(t, strings.Replace(remembers, "within", "need: 2, within", 1))})
		s.asksAgain("others_decide") // two must agree by now, and one had
	})
	inEachLife(t, func(t *testing.T, s *stage) {
		by := s.engine.Grants(s.now)[0].By[0].String()
		s.do(Reloaded{rules(t, strings.Replace(remembers, "[alice, carol]", "["+map[string]string{"alice": "carol", "carol": "alice"}[by]+"]", 1))})
		s.asksAgain("others_decide")
	})
	inEachLife(t, func(t *testing.T, s *stage) {
		s.do(Reloaded{rules(t, strings.Replace(remembers, ", always]", "]", 1))})
		s.asksAgain("not_offered")
	})
}

func TestAI18ALastingYesEndsWithTheToolItWasGivenFor(t *testing.T) {
	inEachLife(t, func(t *testing.T, s *stage) {
		s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		s.answerListing(strings.Replace(moreTools, `"write_file",`, `"write_file","description":"other",`, 1))
		s.lines, s.frames = nil, nil
		s.asksAgain("tool_changed")
	})
}

func TestALastingYesEndsWhenItIsTakenBack(t *testing.T) {
	inEachLife(t, func(t *testing.T, s *stage) {
		id := s.engine.Grants(s.now)[0].ID
		s.do(Revoked{"x" + id})
		s.do(Revoked{id})
		if n := len(s.engine.Grants(s.now)); n != 0 {
			t.Fatalf("%d are in force", n)
		}
		var revoked []string
		for _, r := range s.notes {
			if r.Event == record.Revoked {
				revoked = append(revoked, r.Grant)
			}
		}
		if !slices.Equal(revoked, []string{id}) {
			t.Errorf("on record as revoked: %v, want %s", revoked, id)
		}
		s.asksAgain("")
	})
}

// A call that a yes of before allows waits for the disk as that is taken back. It started all the same.
func TestWhatWaitsToStartByAYesThatIsTakenBackDoesNotStart(t *testing.T) {
	for _, taken := range []bool{true, false} {
		inEachLife(t, func(t *testing.T, s *stage) {
			s.synced = false
			s.again()
			if len(s.tickets) != 1 || s.asked() != 0 {
				t.Fatalf("it does not wait: %q", s.frames)
			}
			g := s.engine.Grants(s.now)[0]
			if taken {
				s.do(Revoked{g.ID})
			}
			s.do(Synced{Ticket: s.tickets[0]})
			if ran := s.asked() == 1; ran == taken {
				t.Errorf("taken back %v: it runs %v", taken, ran)
			}
			if taken {
				s.has(s.only(), `"reason":"revoked"`, `"executed":"no"`, "has been taken back before it started")
			}
		})
	}
}

func TestALastingYesEndsOnItsDay(t *testing.T) {
	inEachLife(t, func(t *testing.T, s *stage) {
		s.now = s.engine.Grants(s.now)[0].Until
		s.asksAgain("")
	})
}

func TestACallThatWaitsIsNotPutAgain(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, strings.Replace(asksAlice, "[alice], within: 60s", "[alice], within: 2h", 1))
	s.write()
	s.question()
	s.pass(16 * time.Minute)
	s.frames = nil
	s.write() // delivered again
	if _, again := s.maybeQuestion(); again {
		t.Error("one request is before people twice")
	}
}

func TestAnApprovedCallDoesNotRunForSomebodyWhoLeft(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.write()
	a := s.question()
	s.do(ServerDown{Cause: "crashed", Retry: time.Second})
	s.answers("alice", a, true, yes)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"l","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"leave","participant":{"id":"bob","capabilities":[]}}}`)
	s.pass(6 * time.Second)
	s.do(ServerUp{Hello{PID: 8, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.answerListing(moreTools)
	if s.asked() != 0 {
		t.Error("it ran though its caller is gone")
	}
}

func TestADelegateWhoMayDecideNoMoreHasNotDecided(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.asksFor("bob", "e7", "7", "deploy", `{"target":"staging"}`, "")
	a := s.question()
	s.answers("alice", a, true, `{"action":"accept","content":{"action":"delegate","delegateTo":"carol"}}`)
	c := s.question()
	s.do(ServerDown{Cause: "crashed", Retry: time.Second})
	s.answers("carol", c, true, `{"action":"accept","content":{"action":"approve"}}`)
	s.do(Reloaded{rules(t, strings.Replace(asksAlice, "delegate: {to: [carol]", "delegate: {to: [dora]", 1))})
	s.do(ServerUp{Hello{PID: 8, Revision: "2025-06-18", Result: []byte(`{}`)}})
	s.answerListing(moreTools)
	if s.asked() != 0 {
		t.Error("it ran on the word of somebody whom the policy does not name")
	}
}

// One short digest stands in the question, in the record that it was put, in
// what its caller is told meanwhile, and in the decision.
func TestAI16OneDigestEverywhere(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.asksFor("bob", "e7", "7", "write_file", `{"path":"/a"}`, `"_meta":{"progressToken":5},`)
	a := s.question()
	digest := ""
	for _, r := range s.notes {
		if r.Event == record.Asked {
			digest = r.Digest
		}
	}
	if len(digest) != 8 || !strings.Contains(a.params, "["+digest+"]") {
		t.Fatalf("the record says %q, the question %s", digest, a.params)
	}
	s.has(s.only(), `"method":"notifications/progress"`, "waiting for approval by alice until 00:01:00 UTC ["+digest+"]", `"mcpx/approval":{"waiting":true,"digest":"`+digest+`","of":["alice"],"left_ms":`)
	s.pass(15 * time.Second)
	s.has(s.only(), "waiting for approval by alice until 00:01:00 UTC ["+digest+"]", `"mcpx/approval":{"waiting":true,"digest":"`+digest+`","of":["alice"],"left_ms":`)
	s.answers("alice", a, true, yes)
	if last := s.notes[len(s.notes)-2]; last.Event != record.Decided || last.Digest != digest {
		t.Errorf("%+v", last)
	}
	s.frames, s.notes = nil, nil
	s.asksFor("bob", "e8", "8", "write_file", `{"path":"/a"}`, "")
	if s.notes[0].Digest == digest {
		t.Error("another question has the same digest")
	}
}

// A question that is turned away has a digest too: the record and the decision
// are about the same.
func TestAI16ADigestForAQuestionThatIsNotPut(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, strings.ReplaceAll(asksAlice, "alice", "nobody"))
	s.write()
	s.refused(-31003)
	asked, decided := "", ""
	for _, r := range s.notes {
		switch r.Event {
		case record.Asked:
			asked = r.Digest
		case record.Decided:
			decided = r.Digest
		}
	}
	if len(asked) != 8 || asked != decided {
		t.Errorf("asked %q, decided %q", asked, decided)
	}
}

// While people decide, others may have taken all places at the server.
func TestAnAgreedCallOverTheMaximumDoesNotStart(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, asksAlice)
	s.write()
	a := s.question()
	for _, id := range []string{"11", "12", "13", "14"} { // MaxCalls
		s.asksFor("carol", "r"+id, id, "read_file", `{"path":"/a"}`, "")
	}
	if n := s.asked(); n != 4 {
		t.Fatalf("%d calls are at the server", n)
	}
	s.lines, s.frames = nil, nil
	s.answers("alice", a, true, yes)
	s.refused(-31005, `"reason":"busy"`, `"retryable":true`)
}
