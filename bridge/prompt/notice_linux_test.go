package prompt_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
)

// Who looks elsewhere hears that something is asked, once for each question, and sees in the
// list of windows how many there are.
func TestAQuestionRingsAndIsCountedInTheTitle(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		s := sit(t, dir, prompt.Options{}, columns, 24)
		s.Sees("nothing to decide")
		if s.Bells() != 0 || s.Title() != "" {
			t.Errorf("%d bells and %q for nothing", s.Bells(), s.Title())
		}
		first := h.Ask(inboxtest.Write(`{"n":1}`))
		s.Titled("1 question to decide - mcpx-bridge")
		second := h.Ask(inboxtest.Write(`{"n":2}`))
		s.Titled("2 questions to decide - mcpx-bridge")
		h.Withdraw(first)
		s.Titled("1 question to decide - mcpx-bridge")
		h.Withdraw(second)
		s.Titled("")
		s.Sees("nothing to decide")
		if s.Bells() != 2 {
			t.Errorf("%d bells for two questions", s.Bells())
		}
	}
}

// The window of somebody who leaves has the title that it had.
func TestTheTitleComesBack(t *testing.T) {
	h, dir := hallIn(t, "fs")
	h.Ask(inboxtest.Write(`{}`))
	s := sit(t, dir, prompt.Options{}, 80, 24)
	s.Titled("1 question to decide - mcpx-bridge")
	s.Types("q")
	s.leaves()
	s.Titled("")
}

// What is not for this person to decide makes no noise here.
func TestAQuestionForOthersDoesNotRing(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := inboxtest.Write(`{"n":1}`)
	q.Terms.Of = []string{"alice"}
	s := sit(t, dir, prompt.Options{}, 80, 24)
	s.Sees("nothing to decide")
	h.Ask(q)
	s.Sees("write_file")
	h.Ask(inboxtest.Write(`{"n":2}`))
	s.Sees("1 of 2")
	if s.Bells() != 1 {
		t.Errorf("%d bells for one question", s.Bells())
	}
}
