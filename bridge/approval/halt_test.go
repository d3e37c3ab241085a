package approval

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func (s *stage) halt()   { s.did(s.d.Halt(s.now, "the bridge is halted")) }
func (s *stage) resume() { s.did(s.d.Resume(s.now)) }

// left is how much time the only question has, and whether that stands still.
func (s *stage) left() (time.Duration, bool) {
	s.t.Helper()
	all := s.d.Pending(0, 0)
	if len(all) != 1 {
		s.t.Fatalf("%d questions are pending: %s", len(all), s.story())
	}
	return all[0].Left(s.now)
}

// However long the bridge is halted, and however often, a question has the time in the end that
// it was given.
func TestTheTimeOfAQuestionStandsStillWhileHalted(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(writeFile("alice"))
	s.pass(20 * time.Second)
	for range 3 {
		s.halt()
		if !s.d.Next().IsZero() {
			t.Fatalf("the desk wants to be woken at %s", s.d.Next())
		}
		s.pass(time.Hour)
		s.wantPending(id)
		if left, frozen := s.left(); left != 40*time.Second || !frozen {
			t.Fatalf("while halted %s are left (%v)", left, frozen)
		}
		s.resume()
		if left, frozen := s.left(); left != 40*time.Second || frozen {
			t.Fatalf("afterwards %s are left (%v)", left, frozen)
		}
		if show := s.shown("alice"); show.Why != "resumed" || show.By.Sub(s.now) != 40*time.Second || s.form(show).Metadata.Timeout != 40 {
			t.Fatalf("alice is shown it because it was %q, with %s", show.Why, show.By.Sub(s.now))
		}
	}
	s.pass(28*time.Second - 1)
	if strings.Contains(s.story(), string(record.Expiring)) {
		t.Fatal("it is expiring before four fifths of its time are over")
	}
	s.pass(1)
	s.wantNoted(record.Expiring, "")
	s.pass(12*time.Second - 1)
	s.wantPending(id)
	s.pass(1)
	s.wantEnd(Expired, TimedOut)
	nothingLeft(t, s.d)
}

// Who had it open is told that it is gone for now, and what they say to it counts for nothing.
func TestNoYesCountsWhileHalted(t *testing.T) {
	for _, who := range []string{"alice", "local"} {
		t.Run(who, func(t *testing.T) {
			s := newStage(t, Options{})
			id := s.open(writeFile("alice", "local"))
			s.halt()
			if c, ok := last(s, func(c Close) bool { return c.To == named("alice") }); !ok || c.Because != "the bridge is halted" {
				t.Fatalf("alice was told %q", c.Because)
			}
			s.says(who, approves)
			s.wantNoted(record.LateAnswer, Halted)
			s.wantPending(id)
			s.resume()
			s.says(who, approves)
			s.wantEnd(Allowed, "")
			nothingLeft(t, s.d)
		})
	}
}

// What was shown before the halt does not count after it either: it was taken away.
func TestAnAnswerToWhatWasTakenAwayDoesNotCountAfterwards(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(writeFile("alice"))
	before := s.shown("alice")
	s.halt()
	s.resume()
	s.answer(s.to(before, approves))
	s.wantNoted(record.LateAnswer, Halted)
	s.wantPending(id)
}

// A no only tightens: who halted may clear away what is asked.
func TestANoAtThisMachineCountsWhileHalted(t *testing.T) {
	for answer, reason := range map[string]string{declines: Declined, `{"action":"cancel"}`: Cancelled, `null`: InvalidAnswer} {
		s := newStage(t, Options{})
		s.open(writeFile("alice", "local"))
		s.halt()
		s.says("local", answer)
		if e := s.wantEnd(Denied, reason); e.By[0].Door != Local {
			t.Errorf("denied by %v", e.By)
		}
		nothingLeft(t, s.d)
	}
}

func TestNobodyIsAskedWhileHalted(t *testing.T) {
	s := newStage(t, Options{})
	s.d.SetHere(Participant("carol"), false)
	q := writeFile("alice", "carol")
	q.Terms.Need = 1
	s.open(q)
	s.halt()
	before := count[Show](s.acts)
	s.d.SetHere(Participant("carol"), true)
	s.did(s.d.Joined(s.now, Participant("carol")))
	s.did(s.d.Joined(s.now, Participant("alice")))
	s.did(s.d.Reask(s.now))
	s.open(writeFile("alice")) // as about a policy file, which may be saved then
	if n := count[Show](s.acts) - before; n != 0 {
		t.Fatalf("%d were asked: %s", n, s.story())
	}
	s.pass(time.Hour)
	s.resume()
	if n := count[Show](s.acts) - before; n != 3 {
		t.Fatalf("%d are asked afterwards: %s", n, s.story())
	}
	for _, q := range s.d.Pending(0, 0) {
		if left, _ := q.Left(s.now); left != time.Minute {
			t.Errorf("%s has %s left", q.ID, left)
		}
	}
}

// Of those who are asked in turn, each has a share of the time that is left.
func TestTurnsStandStillWhileHalted(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("alice", "carol")
	q.Terms.Mode = "sequential"
	s.open(q)
	s.pass(10 * time.Second)
	s.halt()
	s.pass(time.Hour)
	s.resume()
	s.pass(20*time.Second - 1)
	if _, ok := last(s, func(a Show) bool { return a.To == named("carol") }); ok {
		t.Fatal("carol is asked before alice has had her half")
	}
	s.pass(1)
	if by := s.shown("carol").By.Sub(s.now); by != 30*time.Second {
		t.Errorf("carol has %s", by)
	}
}

// A policy that gives less time counts what has passed, without that of the halt.
func TestLessTimeWhileHalted(t *testing.T) {
	ask := func(within time.Duration) policy.Decision {
		terms := writeFile("alice").Terms
		terms.Within = within
		return policy.Decision{Verdict: policy.Ask, Ask: &terms}
	}
	s := newStage(t, Options{})
	s.open(writeFile("alice"))
	s.pass(20 * time.Second)
	s.halt()
	s.pass(time.Hour)
	s.did(s.judged(func(*Question, []byte) policy.Decision { return ask(30 * time.Second) }))
	if left, _ := s.left(); left != 10*time.Second {
		t.Errorf("%s are left", left)
	}
	s.did(s.judged(func(*Question, []byte) policy.Decision { return ask(15 * time.Second) }))
	s.wantEnd(Expired, TimedOut)
}

// What ends a question beside time ends it all the same.
func TestQuestionsEndWhileHalted(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(writeFile("alice"))
	s.halt()
	closed := count[Close](s.acts)
	s.did(s.d.Withdraw(s.now, id, Cancelled))
	s.wantEnd(Withdrawn, Cancelled)
	if count[Close](s.acts) != closed {
		t.Errorf("it is taken away twice: %s", s.story())
	}
	s.resume()
	nothingLeft(t, s.d)
}

func TestAHaltedQuestionSaysSo(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(writeFile("local"))
	s.pass(20 * time.Second)
	s.halt()
	s.pass(time.Hour)
	v, _ := s.d.View(s.now, id, true)
	if want := (Fact{"Decide by", "the bridge is halted; 40s are left when it goes on"}); !slices.Contains(v.Facts, want) {
		t.Errorf("the facts are %q", v.Facts)
	}
}
