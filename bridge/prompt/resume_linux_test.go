package prompt_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// sitAt sits somebody down at the terminal of a bridge, whose page is told how often a link to it
// was made.
func sitAt(t *testing.T, h *inboxtest.Hall, o prompt.Options, columns int) *person {
	t.Helper()
	o.Resident = true
	made := 0
	page := func() string { made++; return fmt.Sprintf("http://127.0.0.1:1/in/link-%d", made) }
	return sitBefore(t, prompt.Only(&prompt.Found{Inbox: h, Name: "own", Label: "fs in lobby", Page: page}), o, columns, 24)
}

func halt(t *testing.T, h *inboxtest.Hall, why string) {
	t.Helper()
	if _, err := h.Halt(t.Context(), inbox.Halt{Reason: why}); err != nil {
		t.Fatal(err)
	}
}

func isHalted(t *testing.T, h *inboxtest.Hall) bool {
	t.Helper()
	s, err := h.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Halted != nil
}

// wanted is what the screen asks for.
func (s *person) wanted() string {
	s.Helper()
	s.saysAll("on fs in lobby, and its questions go on? It is halted by the person at the bridge at ", "for that; any other key goes back")
	return regexp.MustCompile(`\ntype ([0-9a-f]{2}) for that`).FindStringSubmatch(s.Terminal.String())[1]
}

// resumes has the bridge go on.
func (s *person) resumes(h *inboxtest.Hall) {
	s.Helper()
	s.saysAll("R resume")
	s.Types("R")
	s.Types(s.wanted())
	s.Misses("any other key goes back")
	s.Misses("alted")
	if isHalted(s.T, h) {
		s.Fatal("it is halted still")
	}
}

// A halted bridge goes on by a key at its terminal, with nothing asked, and with what it asked
// before, in the list too.
func TestAHaltedBridgeGoesOnByAKey(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h := inboxtest.New("fs")
		s := sitAt(t, h, prompt.Options{}, columns)
		s.saysAll("o new link to the page")
		s.Misses("resume")
		halt(t, h, "mad agents")
		s.saysAll("halted by the person at the bridge at", ": mad agents R resume o new link to the page")
		s.resumes(h)
		first, second := h.Ask(inboxtest.Write(`{"n":1}`)), h.Ask(inboxtest.Write(`{"n":2}`))
		s.Sees("1 of 2")
		halt(t, h, "mad agents")
		s.Sees("halted, 4:")
		s.resumes(h)
		s.allows(h, first)
		if got := h.Next(t); got.ID != first || got.Outcome != approval.Allowed {
			t.Errorf("settled as %+v", got)
		}
		s.Sees("1 of 1")
		h.Ask(inboxtest.Write(`{"n":3}`))
		s.Sees("1 of 2")
		halt(t, h, "mad agents")
		s.Types("l")
		s.Sees("2 questions")
		s.resumes(h)
		s.Sees("1 of 2")
		if _, open := h.Question(second); !open {
			t.Error("the second is decided too")
		}
	}
}

// What was typed before the halt could be read resumes nothing, nor what is meant for another
// window.
func TestWhatIsTypedAheadResumesNothing(t *testing.T) {
	h := inboxtest.New("fs")
	halt(t, h, "mad agents")
	s := sitAt(t, h, prompt.Options{Guard: time.Hour}, 80)
	s.Sees("R resume")
	s.Types("R")
	s.Types("o") // is taken after that
	s.Sees("/in/link-1")
	if strings.Contains(s.Terminal.String(), "let calls start again") || !isHalted(t, h) {
		t.Errorf("R was heard:\n%s", s.Terminal)
	}
}

func TestWhatIsTypedInTheWrongWindowResumesNothing(t *testing.T) {
	for i, line := range []string{"Rm -rf x\r", "README.md\r", "R\r", "go Run x\r", "RR\r"} {
		h, dir := hallIn(t, "fs")
		if i%2 == 1 {
			h.Ask(inboxtest.Write(`{}`))
		}
		halt(t, h, "mad agents")
		s := sit(t, dir, prompt.Options{Silence: time.Hour}, []int{80, 40}[i%2], 24)
		s.saysAll("R resume")
		s.Types(line)
		s.saysAll("is this the right window?")
		s.Types("R0123456789abcdefq")
		s.leaves()
		if !isHalted(t, h) {
			t.Errorf("it goes on by %q", line)
		}
	}
}

// What has to be typed is another each time, and who mistypes it is told.
func TestAWrongConfirmationResumesNothing(t *testing.T) {
	h := inboxtest.New("fs")
	halt(t, h, "mad agents")
	s := sitAt(t, h, prompt.Options{Silence: time.Hour}, 80)
	s.Sees("R resume")
	s.Types("R")
	wrong := "0"
	if s.wanted()[:1] == wrong {
		wrong = "1"
	}
	s.Types(wrong)
	s.saysAll("that is not", "type R, then the two characters that it asks for; answers are locked")
	if !isHalted(t, h) {
		t.Error("it goes on")
	}
}

// Whoever confirms that a bridge goes on after one halt has not seen the next one.
func TestAnotherHaltIsConfirmedAnew(t *testing.T) {
	h := inboxtest.New("fs")
	id := h.Ask(inboxtest.Write(`{}`))
	halt(t, h, "mad agents")
	s := sitAt(t, h, prompt.Options{}, 80)
	s.Sees("R resume", "a allow")
	s.Types("R")
	s.saysAll("mad agents type")
	h.Withdraw(id) // changes nothing about that
	s.Misses("1 of 1")
	s.saysAll("mad agents type")
	if err := h.Resume(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	halt(t, h, "the disk is full")
	s.Sees("fs in lobby is not halted any more as it was shown; nothing was sent", "R resume")
	s.Types("R")
	s.saysAll("the disk is full type")
}

// The link stands on the screen whenever the key is pressed, and each is a new one.
func TestALinkToThePageIsShownByAKey(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h := inboxtest.New("fs")
		s := sitAt(t, h, prompt.Options{}, columns)
		s.saysAll("o new link to the page")
		s.Types("o")
		s.saysAll("http://127.0.0.1:1/in/link-1", "o new link to the page")
		q := inboxtest.Write(`{"path":"/a"}`)
		q.Terms.Confirm = policy.Passkey
		h.Ask(q)
		s.saysAll("1 of 1", "a allow", "o new link to the page")
		s.Types("a")
		s.saysAll("a yes takes a passkey, on the bridge's own page; a no counts from anywhere; o shows a new link to it")
		s.Types("o")
		s.saysAll("http://127.0.0.1:1/in/link-2", "a allow")
		h.Ask(inboxtest.Write(`{"path":"/b"}`))
		s.Sees("1 of 2")
		s.Types("l")
		s.saysAll("2 questions", "o new link to the page")
		s.Types("o")
		s.saysAll("http://127.0.0.1:1/in/link-3", "2 questions")
	}
}

// A key means nothing where there is no page, and where it is another terminal than the bridge's
// own; that one resumes what "mcpx-bridge resume" would.
func TestFromAnotherTerminalABridgeGoesOnAndShowsNoLink(t *testing.T) {
	h, dir := hallIn(t, "fs")
	look := inboxtest.New("notes")
	inboxtest.Open(t, socket.Options{Dir: dir, ID: "notes", Inbox: inbox.LookOnly(look)})
	s := sit(t, dir, prompt.Options{}, 110, 24)
	s.Sees("watching fs in lobby, notes in lobby (q quits)")
	halt(t, h, "mad agents")
	halt(t, look, "mad agents")
	s.Sees("fs in lobby (halted), notes in lobby (halted) (q quits)", "R resume fs in lobby")
	s.Types("R")
	s.Types(s.wanted())
	s.Sees("fs in lobby goes on", "watching fs in lobby, notes in lobby (halted) (q quits)")
	s.Misses("R resume")
	h.Ask(inboxtest.Write(`{}`))
	s.Sees("a allow")
	s.Types("o")
	s.Sees("is this the right window?")
	if strings.Contains(s.Terminal.String(), "link") || isHalted(t, h) || !isHalted(t, look) {
		t.Errorf("halted: %v and %v\n%s", isHalted(t, h), isHalted(t, look), s.Terminal)
	}
}

// Whoever goes back reads another question that came meanwhile from its beginning.
func TestGoingBackShowsWhatCameMeanwhileFromItsBeginning(t *testing.T) {
	h := inboxtest.New("fs")
	long := func(what string) string {
		return h.Ask(inboxtest.Write(`{"` + what + `":"` + strings.Repeat("lorem ", 1000) + `"}`))
	}
	first := long("a")
	long("b")
	halt(t, h, "mad agents")
	s := sitAt(t, h, prompt.Options{}, 80)
	s.Sees("1 of 2", "Space more")
	s.Types("x")
	s.Sees("a allow")
	s.Types("R")
	s.wanted()
	h.Withdraw(first)
	s.Sees("1 of 1", "-- line 1 to")
	s.Types("\x1b")
	s.Misses("any other key goes back")
	s.Sees("-- line 1 to", "Space more")
	s.Misses("a allow")
}

// However long the reason of a halt is, the keys stand below it.
func TestTheReasonOfAHaltLeavesRoomForTheKeys(t *testing.T) {
	for _, columns := range []int{80, 40, 20} {
		h := inboxtest.New("fs")
		halt(t, h, "mad agents "+strings.Repeat("界", 500))
		s := sitAt(t, h, prompt.Options{}, columns)
		s.saysAll("halted by the person", "R resume", "o new link to the page")
	}
}
