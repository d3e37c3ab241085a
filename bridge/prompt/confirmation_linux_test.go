package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A long value that took the place of another was confirmed with its middle left out, and what is
// typed in a burst lost characters. Who asks for what stays meanwhile.
func TestALongChangeIsConfirmedOnceAllOfItWasSeen(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		q := inboxtest.Write(`{"path":"/srv/a.conf","text":"x"}`)
		q.Terms.Edit = []policy.Edit{{Field: "text", Arg: "/text", Title: "Text", Type: "string"}}
		id := h.Ask(q)
		var long strings.Builder
		for n := range 165 {
			fmt.Fprintf(&long, "[%03d]", n)
		}
		s := sit(t, dir, prompt.Options{}, columns, 24)
		first := s.short(h, id)[:2]
		s.Sees("a allow")
		s.Types("e")
		s.Sees("Text: x")
		s.Types("\x15" + long.String() + "\r")
		s.saysAll("allow this call with text = \"[000]", "Space goes on", "agent-a requests permission to execute write_file", `Arguments /path = "/srv/a.conf" /text = "x"`)
		s.Types(first[:1])
		s.saysAll("read the change to its end first: Space goes on")
		var seen strings.Builder
		for was, last := "", false; !last; {
			var page string
			if page, was, last = s.nextPart(was, "? type "+first); !last {
				s.Types(" ")
			}
			seen.WriteString(squeezed(page))
			s.saysAll("agent-a requests permission to execute write_file")
		}
		for n := range 165 {
			if part := fmt.Sprintf("[%03d]", n); !strings.Contains(seen.String(), part) {
				t.Fatalf("%s was not to be read before it could be confirmed", part)
			}
		}
		s.Types(first)
		if got := h.Next(t); got.Outcome != approval.Allowed || !strings.Contains(string(got.Args), long.String()) {
			t.Errorf("settled as %v with %s", got.Outcome, got.Args)
		}
	}
}

// nextPart waits until another part of what is longer than the screen is to be read, or what
// stands there at its end. It gives the screen, which part it is, and whether it is the last.
func (s *person) nextPart(was, atEnd string) (screen, part string, last bool) {
	s.Helper()
	for late := time.After(20 * time.Second); ; {
		screen = s.Terminal.String()
		_, part, _ = strings.Cut(screen, "-- line ")
		part, _, _ = strings.Cut(part, " of ")
		if last = strings.Contains(squeezed(screen), squeezed(atEnd)); last || part != was {
			return screen, part, last
		}
		select {
		case <-s.Changed():
		case <-late:
			s.Fatalf("no other part than %q is to be read:\n%s", was, s.Terminal)
		}
	}
}

// Whoever changed a value that has no room in the line believed that it was taken.
func TestWhatIsTooLongToBeTypedIsNoLine(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		q := inboxtest.Write(`{"a":"` + strings.Repeat("x", 2500) + `","b":"` + strings.Repeat("y", 1999) + `"}`)
		q.Terms.Edit = []policy.Edit{{Field: "a", Arg: "/a", Title: "Text", Type: "string"}, {Field: "b", Arg: "/b", Title: "Note", Type: "string"}}
		h.Ask(q)
		s := sit(t, dir, prompt.Options{}, columns, 24)
		s.Sees("Space more")
		s.Types("x")
		s.Sees("a allow")
		s.Types("e")
		s.saysAll("Text: this value is too long to be changed here (2500 characters, 2000 at most)", "Note: yyy")
		s.Types("zz")
		s.saysAll("there is no room for more than 2000 characters", "yz")
	}
}

func TestAFieldThatCannotBeTypedIsNotConfirmed(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := inboxtest.Write(`{"a":"` + strings.Repeat("x", 2001) + `"}`)
	q.Terms.Edit = []policy.Edit{{Field: "a", Arg: "/a", Title: "Text", Type: "string"}}
	h.Ask(q)
	s := sit(t, dir, prompt.Options{}, 80, 24)
	s.Sees("Space more")
	s.Types("x")
	s.Sees("a allow")
	s.Types("e")
	s.saysAll("Text: this value is too long to be changed here (2001 characters, 2000 at most)")
	s.Misses("any other key goes back")
	s.Types("j")
	s.Sees("a allow")
}
