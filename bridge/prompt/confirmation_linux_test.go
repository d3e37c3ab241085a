package prompt_test

import (
	"fmt"
	"strings"
	"testing"

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
		where := func() string { // "" where the end is seen
			_, at, _ := strings.Cut(s.Terminal.String(), "-- line ")
			lines, _, _ := strings.Cut(at, ";")
			return lines
		}
		seen := squeezed(s.Terminal.String())
		for !strings.Contains(seen, "?type"+first) {
			was := where()
			s.Types(" ")
			for where() == was {
				<-s.Changed()
			}
			s.saysAll("agent-a requests permission to execute write_file")
			seen += squeezed(s.Terminal.String())
		}
		for n := range 165 {
			if part := fmt.Sprintf("[%03d]", n); !strings.Contains(seen, part) {
				t.Fatalf("%s was not to be read before it could be confirmed", part)
			}
		}
		s.Types(first)
		if got := h.Next(t); got.Outcome != approval.Allowed || !strings.Contains(string(got.Args), long.String()) {
			t.Errorf("settled as %v with %s", got.Outcome, got.Args)
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
