package bridge

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
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

func grantedStage(t *testing.T) *stage {
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
	s.do(GrantsChanged{rules(t, approval.RulesHead+g[0].Rule())})
	s.frames, s.lines = nil, nil
	return s
}

func TestALastingYesEndsWithTheTermsItWasGivenUnder(t *testing.T) {
	s := grantedStage(t)
	s.do(Reloaded{rules(t, strings.Replace(remembers, "within", "need: 2, within", 1))})
	s.asksFor("bob", "e8", "8", "write_file", `{"path":"/a","text":"x"}`, "")
	if s.asked() != 0 {
		t.Error("two must agree by now, and one had")
	}
}

func TestALastingYesEndsWithTheToolItWasGivenFor(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		s := grantedStage(t)
		if restarted {
			s.engine.Revoke(s.engine.Grants(s.now)[0].ID) // only the file remembers
		}
		s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		s.answerListing(strings.Replace(moreTools, `"write_file",`, `"write_file","description":"other",`, 1))
		s.lines = nil
		s.asksFor("bob", "e8", "8", "write_file", `{"path":"/a","text":"x"}`, "")
		if s.asked() != 0 {
			t.Errorf("restarted %v: another tool ran on the yes for the first", restarted)
		}
	}
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
