package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/outgoing"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// besideStage has a server that belongs to a client and is at work for bob.
func besideStage(t *testing.T) *stage {
	s := hostedStage(t)
	s.startServer()
	s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
	s.frames, s.notes = nil, nil
	return s
}

const asksPerson = `{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"ok?"}}`

// notAsked counts the questions of the server that were answered with an error.
func (s *stage) notAsked() int {
	return strings.Count(strings.Join(s.lines, "\n"), `"id":"q1","error"`)
}

// Seen before the mend: the client's own dialogs stayed off for a minute after a
// stranger took its call back (FINDINGS P3).
func TestACancelledCallOccupiesTheServerForAGraceOnly(t *testing.T) {
	s := besideStage(t)
	s.cancel("bob", "e2", `1`)
	s.pass(quitGrace - 1)
	if !s.engine.Occupied() {
		t.Error("not occupied by a call that may go on")
	}
	s.pass(1)
	if s.engine.Occupied() {
		t.Error("occupied by a call that nobody wants")
	}
}

// And for as long as it took, when its caller was gone (FINDINGS P12).
func TestTheCallsOfACallerWhoIsGoneAreCancelledAtTheServer(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
	s.call("carol", "e2", `1`, "read_file", `{"path":"/b"}`)
	id := s.lastID()
	s.lines = nil
	leaves := `{"protocol":"mcpx/v0.1","id":"g1","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"leave","participant":{"id":"bob"}}}`
	s.arrive(leaves)
	s.pass(leaveGrace - 1)
	if len(s.lines) != 0 {
		t.Fatalf("before the grace is over the server got %q", s.lines)
	}
	s.pass(1)
	if len(s.lines) != 1 || !strings.Contains(s.lines[0], "notifications/cancelled") || strings.Contains(s.lines[0], `"requestId":`+id) || !s.noted(record.Withdrawn, "caller_left") {
		t.Errorf("the server got %q", s.lines)
	}
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	s.has(s.only(), `"e2"`, `"result":{}`)
}

// A roster after an outage that lacks somebody says less than a leave: their
// answers wait a minute, and so does the call.
func TestTheCallsOfACallerWhoIsMissedGoOnForAMinute(t *testing.T) {
	for _, back := range []bool{false, true} {
		s := newStage(t, "mcpx/v0.1")
		s.engine.timeout = time.Hour
		s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
		s.lines = nil
		s.do(Unseated{})
		s.seatWith("carol")
		s.pass(leaveGrace + outgoing.HeldFor - 2*time.Second)
		if len(s.lines) != 0 {
			t.Fatalf("the server got %q", s.lines)
		}
		if back {
			s.do(Unseated{})
			s.seatWith("bob", "carol")
		}
		s.pass(2 * time.Second)
		if got := strings.Contains(strings.Join(s.lines, ""), "notifications/cancelled"); got == back {
			t.Errorf("back %v: the server got %q", back, s.lines)
		}
	}
}

// Whoever is heard of within that minute waits for what they call since, whatever is said of them.
func TestTheMinuteOfOneWhoWasMissedEndedWhatTheyCalledSince(t *testing.T) {
	for name, heard := range map[string]func(*stage){
		"calls": func(*stage) {},
		"joins": func(s *stage) { s.comes("bob") },
		"joins, and is said to have left": func(s *stage) {
			s.comes("bob")
			s.goes("bob")
			s.pass(leaveGrace)
		},
	} {
		s := newStage(t, "mew/v0.4")
		s.engine.timeout = time.Hour
		s.seatWith("carol")
		s.pass(leaveGrace + outgoing.HeldFor/2)
		heard(s)
		id := s.reads("bob", "e1")
		s.lines, s.frames = nil, nil
		s.pass(2 * outgoing.HeldFor)
		if len(s.lines) > 0 || s.noted(record.Withdrawn, "caller_left") {
			t.Errorf("%s: bob waits, and the server got %q", name, s.lines)
			continue
		}
		s.result(id)
		s.has(s.only(), `"e1"`, `"result":`)
	}
}

// And for what they had called before, until they are missed again, for a minute of its own.
func TestTheMinuteOfOneWhoWasMissedEndedWhatTheyWaitedForAgain(t *testing.T) {
	for name, heard := range map[string]func(*stage){
		"joins": func(s *stage) { s.comes("bob") },
		"speaks": func(s *stage) {
			s.arrive(mewHead + `"id":"c1","from":"bob","kind":"chat","payload":{"text":"hi"}}`)
			s.pass(outgoing.HeldFor)
			s.comes("bob")
		},
	} {
		s := newStage(t, "mew/v0.4")
		s.engine.timeout = time.Hour
		s.reads("bob", "e1")
		s.lines = nil
		s.seatWith("carol")
		s.pass(leaveGrace + outgoing.HeldFor/2)
		heard(s)
		s.seatWith("carol")
		s.pass(leaveGrace + outgoing.HeldFor - time.Second)
		if len(s.lines) > 0 {
			t.Errorf("%s: after less than a minute the server got %q", name, s.lines)
		}
		s.pass(time.Second)
		if len(s.lines) != 1 || !strings.Contains(s.lines[0], "notifications/cancelled") {
			t.Errorf("%s: after a minute the server got %q", name, s.lines)
		}
	}
}

func TestAQuestionBesideACallWaitsForItsAnswer(t *testing.T) {
	s := besideStage(t)
	id := s.lastID()
	s.said(asksPerson)
	if s.notAsked() != 0 || len(s.toldHost) != 0 {
		t.Fatalf("the server got %q, the client %q", s.lines, s.toldHost)
	}
	s.call("carol", "e2", `1`, "read_file", `{"path":"/b"}`) // which it cannot be about
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	if len(s.toldHost) != 1 || s.toldHost[0] != asksPerson {
		t.Errorf("the client heard %q", s.toldHost)
	}
	s.pass(time.Minute)
	if s.notAsked() != 0 {
		t.Error("it was refused too")
	}
}

func TestAQuestionThatMayBeAStrangersReachesNobody(t *testing.T) {
	for name, end := range map[string]func(s *stage, id string){
		"it is waited for":      func(s *stage, _ string) { s.pass(asideWait) },
		"the call is cancelled": func(s *stage, _ string) { s.cancel("bob", "e2", `1`); s.pass(quitGrace) },
		"the answer is lost":    func(s *stage, id string) { s.do(ServerNoise{Reason: "json_depth", ID: []byte(id), Answer: true}) },
		"we stop":               func(s *stage, _ string) { s.do(Stopping{}) },
		"we leave":              func(s *stage, _ string) { s.do(Leaving{}) },
	} {
		s := besideStage(t)
		id := s.lastID()
		s.said(asksPerson)
		end(s, id)
		if s.notAsked() != 1 || len(s.toldHost) != 0 {
			t.Errorf("%s: the server got %q, the client %q", name, s.lines, s.toldHost)
		}
		s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
		if len(s.toldHost) != 0 {
			t.Errorf("%s: the client heard %q afterwards", name, s.toldHost)
		}
	}
	s := besideStage(t)
	id := s.lastID()
	s.said(asksPerson)
	s.said(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q1"}}`)
	s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	if len(s.toldHost) != 0 || s.notAsked() != 0 {
		t.Errorf("taken back: the server got %q, the client %q", s.lines, s.toldHost)
	}
}

func TestQuestionsThatWaitHaveABound(t *testing.T) {
	s := besideStage(t)
	for range asideMost {
		s.said(strings.Replace(asksPerson, "q1", "q2", 1))
	}
	s.said(asksPerson)
	if s.notAsked() != 1 || len(s.engine.asides) != asideMost {
		t.Errorf("%d wait", len(s.engine.asides))
	}
	s = besideStage(t)
	s.said(strings.Replace(asksPerson, "ok?", strings.Repeat("x", asideMax), 1))
	if s.notAsked() != 1 || len(s.engine.asides) != 0 {
		t.Error("a large one waits")
	}
}

// Where the server is ours alone nobody could be asked, now or later.
func TestAServerOfOursIsRefusedAtOnce(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, allowsSome)})
	s.seat()
	s.startServer()
	s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
	s.said(asksPerson)
	if s.notAsked() != 1 {
		t.Errorf("the server got %q", s.lines)
	}
}

// What serves a proposal goes on when whoever began it is gone: others heard that it
// was begun, and wait for what comes of it.
func TestWhatServesAProposalGoesOnWithoutWhoAskedForIt(t *testing.T) {
	for name, begin := range map[string]func(s *stage) (gone string){
		"the proposer":  func(s *stage) string { return "bob" },
		"the requester": func(s *stage) string { s.requests("carol", "r1", "p1", "read_file"); return "carol" },
	} {
		t.Run(name, func(t *testing.T) {
			fulfil := "fulfil: policy"
			if name == "the requester" {
				fulfil = "fulfil: never"
			}
			s := proposalStage(t, "mew/v0.4", fulfil)
			s.proposes("bob", "p1", "fs", "read_file", path, "")
			gone := begin(s)
			id := s.lastID()
			s.lines, s.frames = nil, nil
			s.leaves(gone)
			if len(s.lines) != 0 {
				t.Fatalf("the server got %q", s.lines)
			}
			s.said(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
			if !s.noted(record.Ended, "") {
				t.Errorf("its end is not on record")
			}
		})
	}
}

// A gateway that has just come up takes its participants in one after the other. It went down again
// before bob's turn, and bob had no more time to come back.
func TestNobodyIsGoneWhoCouldNotHaveComeBack(t *testing.T) {
	for what, first := range map[string][]string{"the caller": {"alice", "carol"}, "who is asked": {"bob"}} {
		s := askingStage(t, lookup(t, "mew/v0.4"), planRules)
		s.write()
		s.question()
		s.do(Unseated{})
		s.seatWith(first...)
		s.pass(leaveGrace - time.Second)
		s.do(Unseated{})
		s.pass(2 * time.Second)
		s.seatWith("alice", "bob", "carol", "mallory")
		q, asked := s.maybeQuestion()
		if !asked {
			t.Errorf("%s: nobody is asked any more", what)
			continue
		}
		s.answers(q.to, q, true, yes)
		if s.asked() != 1 {
			t.Errorf("%s: it does not run", what)
		}
	}
}

// Nor does what they have called end while nobody could hear them.
func TestTheMinuteOfOneWhoIsMissedStandsStillWithoutASeat(t *testing.T) {
	for _, back := range []bool{true, false} {
		s := newStage(t, "mcpx/v0.1")
		s.engine.timeout = time.Hour
		s.call("bob", "e1", `1`, "read_file", `{"path":"/a"}`)
		s.do(Unseated{})
		s.seatWith("carol")
		s.pass(leaveGrace + outgoing.HeldFor/2)
		s.do(Unseated{})
		s.lines = nil
		s.pass(outgoing.HeldFor)
		if len(s.lines) > 0 {
			t.Fatalf("without a seat the server got %q", s.lines)
		}
		if back {
			s.seatWith("bob", "carol")
		} else {
			s.seatWith("carol")
		}
		s.pass(outgoing.HeldFor - time.Second)
		if len(s.lines) > 0 {
			t.Errorf("back %v: the server got %q", back, s.lines)
		}
		s.pass(time.Second)
		if got := strings.Contains(strings.Join(s.lines, ""), "notifications/cancelled"); got == back {
			t.Errorf("back %v: the server got %q", back, s.lines)
		}
	}
}

// Nor is one whose leave was heard of, and not their coming back.
func TestNobodyIsGoneWhoWasHeardToLeaveAndNotToComeBack(t *testing.T) {
	s := askingStage(t, lookup(t, "mew/v0.4"), planRules)
	s.write()
	s.question()
	s.do(Arrived{&wire.Envelope{Kind: wire.Presence, From: "system:gateway", Payload: []byte(`{"event":"leave","participant":{"id":"bob"}}`)}})
	s.pass(leaveGrace - time.Second)
	s.do(Unseated{})
	s.pass(2 * time.Second)
	s.seatWith("alice", "bob", "carol", "mallory")
	q, asked := s.maybeQuestion()
	if !asked {
		t.Fatal("nobody is asked any more")
	}
	s.answers(q.to, q, true, yes)
	if s.asked() != 1 {
		t.Error("it does not run")
	}
}
