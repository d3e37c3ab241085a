package prompt_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
)

// asks puts a question of somebody with an argument that tells it from others.
func asks(h *inboxtest.Hall, caller string, n int) (id string) {
	q := inboxtest.Write(fmt.Sprintf(`{"n":%d}`, n))
	q.Caller = caller
	return h.Ask(q)
}

// All of one caller are denied, those that were shown and no other: not one that came since,
// and not one of somebody else.
func TestAllOfOneCallerAreDenied(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		asked := map[string]bool{asks(h, "mallory", 1): true, asks(h, "mallory", 2): true, asks(h, "mallory", 3): true}
		kept := asks(h, "bob", 4)
		s := sit(t, dir, prompt.Options{}, columns, 24)
		s.Sees("1 of 4", "d deny")
		s.Types("l")
		s.Sees("4 questions", "D deny all of mallory")
		s.Types("D")
		s.saysAll("3 questions", "deny these 3 questions of mallory? Enter does, Escape does not", "because (may be empty):")
		late := asks(h, "mallory", 5)
		s.Titled("5 questions to decide - mcpx-bridge")
		s.Types("too many\r")
		for range 3 {
			if got := h.Next(t); got.Outcome != approval.Denied || got.Said != "too many" || !asked[got.ID] {
				t.Errorf("settled as %+v", got)
			}
		}
		s.Sees("2 questions")
		for _, id := range []string{kept, late} {
			if _, open := h.Question(id); !open {
				t.Error("one that was not shown is denied")
			}
		}
	}
}

func TestDenyingAllIsTakenBack(t *testing.T) {
	h, dir := hallIn(t, "fs")
	ids := []string{asks(h, "mallory", 1), asks(h, "mallory", 2)}
	s := sit(t, dir, prompt.Options{}, 80, 24)
	s.Sees("1 of 2", "d deny")
	s.Types("l")
	s.Sees("2 questions")
	s.Types("D")
	s.Sees("deny these 2 questions of mallory?")
	s.Types("\x1b")
	s.Sees("D deny all of mallory")
	s.Types("D")
	s.Sees("deny these 2 questions of mallory?")
	h.Withdraw(ids[1])
	s.Sees("deny this question of mallory?") // it was one of the two
	h.Withdraw(ids[0])
	s.Sees("nothing to decide")
	s.Misses("deny this question")
	if len(h.Settled) != 2 {
		t.Errorf("%d are settled", len(h.Settled))
	}
}

// What does not fit on the screen was not shown.
func TestOnlyWhatTheListShowsIsDenied(t *testing.T) {
	h, dir := hallIn(t, "fs")
	for n := range 8 {
		asks(h, "mallory", n)
	}
	s := sit(t, dir, prompt.Options{}, 80, 9)
	s.Sees("1 of 8", "d deny")
	s.Types("l")
	s.Sees("8 questions")
	s.Types("D")
	s.Sees("deny these 5 questions of mallory?")
	s.Types("\r")
	for range 5 {
		h.Next(t)
	}
	s.Sees("3 questions")
}

// A key that means nothing locks this too.
func TestACommandInTheListDeniesNothing(t *testing.T) {
	h, dir := hallIn(t, "fs")
	asks(h, "mallory", 1)
	asks(h, "mallory", 2)
	s := sit(t, dir, prompt.Options{Silence: time.Hour}, 80, 24)
	s.Sees("1 of 2", "d deny")
	s.Types("l")
	s.Sees("2 questions")
	s.Types("s -D x\r")
	s.Types("q")
	s.leaves()
	if len(h.Settled) > 0 {
		t.Error("something was denied")
	}
}

// After a look into the list, what comes next is a question again.
func TestTheListEndsWithItsQuestions(t *testing.T) {
	h, dir := hallIn(t, "fs")
	first, second := asks(h, "bob", 1), asks(h, "bob", 2)
	s := sit(t, dir, prompt.Options{}, 80, 24)
	s.Sees("1 of 2", "d deny")
	s.Types("l")
	s.Sees("2 questions")
	h.Withdraw(first)
	s.Sees("1 of 1", "/n = 2", "a allow") // a list of one is a question
	asks(h, "bob", 3)
	s.Sees("1 of 2")
	s.Types("l")
	s.Sees("2 questions")
	h.Withdraw(second)
	s.Sees("1 of 1", "/n = 3", "a allow")
}
