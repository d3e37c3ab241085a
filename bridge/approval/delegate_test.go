package approval

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

func passTo(who string) string {
	return fmt.Sprintf(`{"action":"accept","content":{"action":"delegate","delegateTo":%q,"reason":"ask them"}}`, who)
}

const agrees = `{"action":"accept","content":{"action":"approve"}}`

func TestAI20Delegation(t *testing.T) { // WIRE O59
	s := newStage(t, Options{})
	s.open(passable(writeFile("alice"), "alice", "carol"))
	alice := s.shown("alice")
	s.pass(20 * time.Second)
	s.says("alice", passTo("carol"))
	carol := s.shown("carol")
	f := s.form(carol)
	if len(f.Metadata.Delegation) != 1 || f.Metadata.Delegation[0]["by"] != "alice" || f.Metadata.Delegation[0]["to"] != "carol" ||
		f.Metadata.Delegation[0]["ts"] != "2026-01-01T00:00:20Z" {
		t.Errorf("delegation %v", f.Metadata.Delegation)
	}
	if f.Metadata.Timeout != 40 || !carol.By.Equal(alice.By) || carol.Why != "delegated" || carol.Digest != alice.Digest {
		t.Errorf("%+v", carol)
	}
	if n := s.wantNoted(record.Delegated, ""); n.Who != Participant("carol") || len(n.Chain) != 1 {
		t.Errorf("%+v", n)
	}
	s.answer(s.to(alice, agrees))
	s.wantNoted(record.LateAnswer, "already_answered")
	s.says("carol", agrees)
	if e := s.wantEnd(Allowed, ""); len(e.By) != 1 || e.By[0] != Participant("carol") || len(e.Chain) != 1 {
		t.Errorf("by %v after %v", e.By, e.Chain)
	}
}

func TestDelegationKeepsTheDeadline(t *testing.T) {
	s := newStage(t, Options{})
	s.open(passable(writeFile("alice"), "carol"))
	s.pass(50 * time.Second)
	s.says("alice", passTo("carol"))
	s.pass(10 * time.Second)
	s.wantEnd(Expired, TimedOut)
}

// To whom a question cannot be passed on: one more try, then it is a no (O60).
func TestAI20InvalidDelegation(t *testing.T) {
	for _, c := range []struct{ name, to, says string }{
		{"the caller", "bob", "has a part in this call"},
		{"the proposer", "dave", "has a part in this call"},
		{"the bridge", "fs", "has a part in this call"},
		{"oneself", "alice", "has had this question already"},
		{"somebody unknown", "nobody", "cannot be passed on to"},
		{"somebody not on the list", "mallory", "cannot be passed on to"},
		{"nobody", "", "cannot be passed on to"},
		{"a pattern", "*", "cannot be passed on to"},
		{"somebody who is not here", "erin", "is not here"},
		{"somebody who is asked already", "local", "is asked already"},
		{"a name that writes on the screen", "a\u202e\n", `\u{202e}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{})
			q := passable(writeFile("alice", "local"), "alice", "bob", "carol", "dave", "erin", "fs", "local")
			q.Proposer = "dave"
			id := s.open(q)
			first := s.shown("alice")
			s.says("alice", passTo(c.to))
			again := s.shown("alice")
			if again.Ask == first.Ask || again.Why != InvalidDelegation || !strings.Contains(s.form(again).Message, c.says) || again.Problem == "" {
				t.Fatalf("%q: %s", c.says, again.Params)
			}
			s.wantPending(id)
			s.answer(s.to(first, agrees))
			s.wantPending(id)
			s.says("alice", passTo(c.to))
			s.wantEnd(Denied, InvalidDelegation)
		})
	}
	t.Run("the second try may be right", func(t *testing.T) {
		s := newStage(t, Options{})
		s.open(passable(writeFile("alice"), "carol"))
		s.says("alice", passTo("bob"))
		s.says("alice", passTo("carol"))
		s.says("carol", agrees)
		s.wantEnd(Allowed, "")
	})
	t.Run("the second try may be a decision", func(t *testing.T) {
		s := newStage(t, Options{})
		s.open(passable(writeFile("alice"), "carol"))
		s.says("alice", passTo("bob"))
		s.says("alice", agrees)
		s.wantEnd(Allowed, "")
	})
}

func TestDelegationInTheLastSeconds(t *testing.T) {
	for left, want := range map[time.Duration]string{2 * time.Second: "delegated", 2*time.Second - 1: InvalidDelegation} {
		s := newStage(t, Options{})
		s.open(passable(writeFile("alice"), "carol"))
		s.pass(time.Minute - left)
		s.says("alice", passTo("carol"))
		if show, _ := last[Show](s, nil); show.Why != want {
			t.Errorf("with %v left: %s", left, show.Why)
		}
	}
}

func TestAI20DepthOfDelegation(t *testing.T) {
	for depth, deepest := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 3: 3, 9: 3} {
		s := newStage(t, Options{})
		people := []string{"alice", "carol", "dave", "mallory", "erin"}
		s.d.SetHere(Participant("erin"), true)
		q := passable(writeFile("alice"), people...)
		q.Terms.Delegate.Depth = depth
		s.open(q)
		hops := 0
		for ; hops < len(people)-1; hops++ {
			s.says(people[hops], passTo(people[hops+1]))
			if show, _ := last[Show](s, nil); show.Why != "delegated" {
				break
			}
		}
		if hops != deepest {
			t.Errorf("depth %d: passed on %d times", depth, hops)
		}
	}
}

// No way round leads back: whoever has had the question does not get it again.
func TestAI20NoLoops(t *testing.T) {
	s := newStage(t, Options{})
	q := passable(writeFile("alice"), "alice", "carol", "dave")
	q.Terms.Delegate.Depth = 3
	s.open(q)
	s.says("alice", passTo("carol"))
	s.says("carol", passTo("alice"))
	if show := s.shown("carol"); show.Why != InvalidDelegation || !strings.Contains(show.Problem, "has had this question already") {
		t.Fatalf("%s", s.story())
	}
	s.says("carol", passTo("dave"))
	s.says("dave", passTo("alice"))
	s.says("dave", passTo("carol"))
	s.wantEnd(Denied, InvalidDelegation)
}

// Passing on makes no second vote of one.
func TestDelegationAndQuorum(t *testing.T) {
	s := newStage(t, Options{})
	q := passable(writeFile("alice", "carol", "dave"), "carol", "dave", "local")
	q.Terms.Need = 2
	id := s.open(q)
	s.says("carol", agrees)
	s.says("alice", passTo("carol"))
	s.wantPending(id)
	s.says("alice", passTo("local"))
	s.wantPending(id)
	s.says("local", agrees)
	if e := s.wantEnd(Allowed, ""); len(e.By) != 2 {
		t.Errorf("by %v", e.By)
	}
}

func TestADelegateWhoLeaves(t *testing.T) {
	s := newStage(t, Options{})
	s.open(passable(writeFile("alice"), "carol"))
	s.says("alice", passTo("carol"))
	s.did(s.d.Left(s.now, Participant("carol")))
	s.wantEnd(Refused, NoApprover)
}

func TestDelegationToTheNextInLine(t *testing.T) {
	s := newStage(t, Options{})
	q := passable(writeFile("alice", "carol"), "carol")
	q.Terms.Mode = "sequential"
	s.open(q)
	s.says("alice", passTo("carol"))
	if show := s.shown("carol"); !show.By.Equal(began.Add(30 * time.Second)) {
		t.Errorf("carol has until %v", show.By)
	}
	s.says("carol", agrees)
	s.wantEnd(Allowed, "")
}

// The second of a chain was offered to pass a question on, and then told that this
// cannot be (FINDINGS S15).
func TestWhoMayPassItOnNoFurtherIsNotOfferedThat(t *testing.T) {
	s := newStage(t, Options{})
	s.open(passable(writeFile("alice"), "carol", "dave"))
	offers := func(who string) bool { return strings.Contains(string(s.shown(who).Params), "delegateTo") }
	if !offers("alice") {
		t.Error("alice, who may, is not offered to pass it on")
	}
	if s.says("alice", passTo("carol")); offers("carol") {
		t.Error("carol, who may not, is offered to pass it on")
	}

	s = newStage(t, Options{}) // the same at one of our own doors
	id := s.open(passable(writeFile("alice"), "local", "dave"))
	here := Who{Door: Local}
	s.says("alice", passTo("local"))
	if v, ok := s.d.ViewOf(s.now, id, here, true); !ok || len(v.DelegateTo) > 0 {
		t.Errorf("the person at the bridge, who may not, is offered %q", v.DelegateTo)
	}
}

// The form said that a question can be passed on, not to whom: people were offered all who
// are in the topic (FINDINGS S8). Nobody is offered themselves.
func TestTheFormSaysToWhomAQuestionMayGo(t *testing.T) {
	for who, want := range map[string]string{"alice": `"enum":["carol","local"]`, "carol": `"enum":["local"]`} {
		s := newStage(t, Options{})
		s.open(passable(writeFile(who), "carol", "local"))
		if params := string(s.shown(who).Params); !strings.Contains(params, `"description":"Only required if action is 'delegate'",`+want) {
			t.Errorf("%s is shown %s", who, params)
		}
	}
	s := newStage(t, Options{})
	s.open(passable(writeFile("carol"), "carol"))
	if params := string(s.shown("carol").Params); strings.Contains(params, "delegate") {
		t.Errorf("carol is offered herself: %s", params)
	}
}
