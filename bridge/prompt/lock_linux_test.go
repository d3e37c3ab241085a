package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
)

// What is typed at a terminal whose window is not the one that is meant begins no
// answer: not in reading, not in the list, not with a question that comes up
// meanwhile (FINDINGS U1).
func TestACommandInTheWrongWindowAllowsNothing(t *testing.T) {
	for i, line := range []string{"ls -a\r", "a\r", "ca\r", "cd /a", "wa a a a\r", "java\r", "ea\r", "va\ra\ra"} {
		h, dir := hallIn(t, "fs")
		id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
		s := sit(t, dir, prompt.Options{Silence: time.Hour}, []int{80, 40}[i%2], 24)
		s.Sees("a allow")
		s.Types(line + s.short(h, id)[:2] + "\ra" + s.short(h, id)[:2]) // even with the digest behind it
		s.Types("q")
		s.leaves()
		if _, ok := h.Question(id); !ok {
			t.Errorf("%q answered the question", line)
		}
	}
}

// Not even if the digest happens to stand behind an a: nobody reads so fast.
func TestWhatIsTypedBeforeTheConfirmationCanBeReadAllowsNothing(t *testing.T) {
	h, dir := hallIn(t, "fs")
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	s := sit(t, dir, prompt.Options{Guard: 300 * time.Millisecond, Silence: time.Hour}, 100, 24)
	s.Sees("a allow")
	for !strings.Contains(s.Terminal.String(), "is this the right window?") {
		s.Types("a" + s.short(h, id)[:2])
		select {
		case <-s.Changed():
		case <-time.After(50 * time.Millisecond): // the question came up just now, so it is not heard
		}
	}
	if _, ok := h.Question(id); !ok {
		t.Error("it was answered")
	}
}

// Who knows how is not told to look for another window.
func TestTheDigestIsTakenHoweverFast(t *testing.T) {
	h, dir := hallIn(t, "fs")
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	s := sit(t, dir, prompt.Options{Guard: 300 * time.Millisecond}, 80, 24)
	s.Sees("a allow")
	time.Sleep(300 * time.Millisecond) // what a person takes to read it
	s.Types("a")
	s.Sees("any other key goes back")
	s.Types(s.short(h, id)[:2])
	if got := h.Next(t); got.ID != id || got.Outcome != approval.Allowed {
		t.Errorf("settled as %+v", got)
	}
}

func TestAKeyThatMeansNothingLocksTheAnswersUntilThereIsSilence(t *testing.T) {
	h, dir := hallIn(t, "fs")
	first, second := h.Ask(inboxtest.Write(`{"n":1}`)), h.Ask(inboxtest.Write(`{"n":2}`))
	s := sit(t, dir, prompt.Options{}, 100, 24)
	s.Sees("1 of 2", "a allow")
	s.Types("z")
	s.Sees("is this the right window?")
	s.Types("a")
	s.Types("d")
	s.Types("n") // to look at another one is free
	s.Sees("2 of 2", "is this the right window?")
	s.Types("l")
	s.Sees("2 questions")
	s.Types("z") // it is the same in the list
	s.Sees("is this the right window?")
	s.Sees("j k move") // when there was silence
	s.Types("\r")
	s.Sees("a allow")
	s.allows(h, second)
	if got := h.Next(t); got.ID != second || got.Outcome != approval.Allowed {
		t.Errorf("settled as %+v", got)
	}
	if _, ok := h.Question(first); !ok {
		t.Error("the first was answered too")
	}
}

// What takes a confirmation back was not meant for it, so it locks the answers too.
func TestAKeyThatTakesAConfirmationBackLocksTheAnswers(t *testing.T) {
	h, dir := hallIn(t, "fs")
	id := h.Ask(inboxtest.Write(`{}`))
	s := sit(t, dir, prompt.Options{Silence: time.Hour}, 100, 24)
	s.Sees("a allow")
	s.Types("a")
	s.Sees("any other key goes back")
	s.Types("z")
	s.Sees("is this the right window?")
	s.Types("a" + s.short(h, id)[:2])
	s.Types("q")
	s.leaves()
	if _, ok := h.Question(id); !ok {
		t.Error("it was answered")
	}
}

// The prompt of a bridge of ours does not quit, so q in its list was meant for something else.
func TestAQThatQuitsNothingLocksTheAnswers(t *testing.T) {
	h, dir := hallIn(t, "fs")
	h.Ask(inboxtest.Write(`{"n":1}`))
	h.Ask(inboxtest.Write(`{"n":2}`))
	s := sit(t, dir, prompt.Options{Resident: true, Silence: time.Hour}, 100, 24)
	s.Sees("1 of 2", "a allow")
	s.Types("l")
	s.Sees("2 questions")
	s.Types("q")
	s.Sees("is this the right window?")
}
