package prompt_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control/controltest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func at(dir string) prompt.Options { return prompt.Options{Find: prompt.Bridges(dir, nil)} }

func TestAllowTakesAKeyAndEnter(t *testing.T) {
	h, dir := hallIn(t, "fs")
	h.Ask(controltest.Write(`{"path":"/a","text":"x"}`))
	s := sit(t, at(dir), 100, 30)
	s.sees("agent-a requests permission to execute write_file")
	for _, what := range []string{"1 of 1   fs in lobby", "Bridge       fs (notes-server)", "Rule         small-writes", `/path = "/a"`, "left", "a allow   d deny", "Asked        local (asked)"} {
		s.sees(what)
	}
	s.types("a")
	s.sees("Enter allows it")
	s.types("\r")
	if got := h.Next(t); got.Outcome != approval.Allowed || string(got.Args) != `{"path":"/a","text":"x"}` {
		t.Errorf("settled as %+v", got)
	}
	s.sees("allowed by you")
	s.sees("nothing to decide; watching fs in lobby")
	if strings.Contains(s.glass.String(), "Arguments") {
		t.Errorf("the question is still there:\n%s", s.glass)
	}
	s.types("q")
	s.leaves()
	if !s.canonical() {
		t.Error("the terminal is not what it was")
	}
}

func TestAnyKeyButEnterTakesItBack(t *testing.T) {
	h, dir := hallIn(t, "fs")
	id := h.Ask(controltest.Write(`{}`))
	s := sit(t, at(dir), 80, 24)
	for _, k := range []string{"\x1b", "n", "a", " "} {
		s.sees("a allow")
		s.types("a")
		s.sees("Enter allows it")
		s.types(k)
		s.misses("Enter allows it")
	}
	s.sees("a allow")
	if _, ok := h.Question(id); !ok {
		t.Error("it was answered")
	}
}

func TestDenyWithAReason(t *testing.T) {
	h, dir := hallIn(t, "fs")
	h.Ask(controltest.Write(`{}`))
	s := sit(t, at(dir), 80, 24)
	s.sees("d deny")
	s.types("d")
	s.sees("deny, because")
	s.types("not odayxx\x7f\x7f\x1b[D\x1b[D\x1b[D\x1b[Dt\r")
	if got := h.Next(t); got.Outcome != approval.Denied || got.Reason != approval.Declined || got.Said != "not today" {
		t.Errorf("settled as %+v", got)
	}
	s.sees("denied by you")
}

func TestEditChangesWhatRuns(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := controltest.Write(`{"target":"production","n":1}`)
	q.Terms.Edit = []policy.Edit{
		{Field: "modifiedTarget", Arg: "/target", Title: "Target system", Type: "string", Enum: []string{`"production"`, `"staging"`}},
		{Field: "count", Arg: "/n", Title: "How often", Type: "integer", Min: "1", Max: "9"},
	}
	h.Ask(q)
	s := sit(t, at(dir), 120, 30)
	s.sees("e edit")
	s.types("e")
	s.sees("Target system (Tab): production")
	s.types("\t")
	s.sees("Target system (Tab): staging")
	s.types("\r")
	s.sees("How often (1 to 9): 1")
	s.types("\x150\r")
	s.sees("must be at least 1")
	s.types("\x157\r")
	s.sees(`allow this call with modifiedTarget = "staging", count = 7`)
	s.types("\r")
	if got := h.Next(t); got.Outcome != approval.Allowed || string(got.Args) != `{"target":"staging","n":7}` {
		t.Errorf("settled as %+v %s", got, got.Args)
	}
}

func TestPassItOn(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := controltest.Write(`{}`)
	q.Terms.Delegate = &policy.Delegate{To: []string{"carol", "dave"}, Depth: 1}
	id := h.Ask(q)
	s := sit(t, at(dir), 100, 30)
	s.sees("g pass on")
	s.types("g")
	s.sees("pass on to (Tab): carol")
	s.types("\t\r")
	s.sees("passed on to dave")
	s.sees("asked: dave")
	s.types("a")
	s.sees("this is not for you to decide now; asked: dave")
	h.Say(t, "dave", id, `{"action":"accept","content":{"action":"approve"}}`)
	if got := h.Next(t); got.Outcome != approval.Allowed || len(got.Chain) != 1 {
		t.Errorf("settled as %+v", got)
	}
	s.sees("allowed")
}

func TestRememberIsChosenAndSaid(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := controltest.Write(`{}`)
	q.Terms.Remember = []string{"once", "session", "always"}
	h.Ask(q)
	s := sit(t, at(dir), 100, 30)
	s.sees("r remember: once")
	s.types("r")
	s.sees("r remember: session")
	s.types("a")
	s.sees("and remember that (session)")
	s.types("\r")
	if got := h.Next(t); got.Made == nil || got.Made.Keep != "session" {
		t.Errorf("settled as %+v", got)
	}
}

// AI-15, AI-16: the terminal shows what cannot be seen, and allows nothing
// that was not shown to its end.
func TestLongAndHiddenTextMustBeReadToTheEnd(t *testing.T) {
	h, dir := hallIn(t, "fs")
	h.Ask(controltest.Write(`{"path":"safe\u202etxt.exe","text":"` + strings.Repeat("all is well ", 400) + `\u001b[2J rm -rf"}`))
	s := sit(t, at(dir), 80, 20)
	s.sees(`! contains 1 direction-control character, shown as \u{…}`)
	s.sees(`safe\u{202e}txt.exe`)
	s.sees("Space more")
	s.types("a")
	s.sees("read it to the end first")
	for !strings.Contains(s.glass.String(), "a allow") {
		before := s.glass.String()
		s.types(" ")
		for s.glass.String() == before {
			<-s.changed
		}
	}
	s.sees(`u{1b}[2J rm -rf`)
	s.types("a\r")
	if got := h.Next(t); got.Outcome != approval.Allowed {
		t.Errorf("settled as %+v", got)
	}
}

// A value that runs over the edge of the screen cannot look like a line of the
// bridge's own.
func TestWrappedTextIsMarked(t *testing.T) {
	h, dir := hallIn(t, "fs")
	for pad := range 40 {
		h.Ask(controltest.Write(`{"a":"` + strings.Repeat("x", 30+pad) + `Digest       00000000"}`))
	}
	s := sit(t, at(dir), 60, 30)
	for i := range 40 {
		s.sees(fmt.Sprintf("%d of 40", i+1))
		s.sees("d deny")
		for line := range strings.Lines(s.glass.String()) {
			if strings.HasPrefix(line, "Digest       00000000") {
				t.Fatalf("a forged line:\n%s", s.glass)
			}
		}
		s.types("n")
	}
}

// Keys typed before the question was on the screen decide nothing.
func TestTypeAheadDecidesNothing(t *testing.T) {
	h, dir := hallIn(t, "fs")
	s := sit(t, prompt.Options{Find: prompt.Bridges(dir, nil), Guard: time.Hour}, 80, 24)
	s.sees("nothing to decide")
	s.types("a\ra\r")
	id := h.Ask(controltest.Write(`{}`))
	s.sees("a allow")
	s.types("a\rd\r") // and not in the moment after
	other := h.Ask(controltest.Write(`{}`))
	s.sees("of 2")
	s.types("n") // moving is free
	s.sees("2 of 2")
	s.types("a\r")
	s.types("n")
	s.sees("1 of 2")
	for _, id := range []string{id, other} {
		if _, ok := h.Question(id); !ok {
			t.Error("it was answered")
		}
	}
}

// The second Enter of a double one falls on the next question and does nothing.
func TestDoubleEnterAnswersOnce(t *testing.T) {
	h, dir := hallIn(t, "fs")
	h.Ask(controltest.Write(`{"n":1}`))
	second := h.Ask(controltest.Write(`{"n":2}`))
	s := sit(t, prompt.Options{Find: prompt.Bridges(dir, nil), Guard: 200 * time.Millisecond}, 80, 24)
	s.sees("1 of 2")
	s.sees("a allow")
	for !strings.Contains(s.glass.String(), "Enter allows it") {
		s.types("a")
		select {
		case <-s.changed:
		case <-time.After(100 * time.Millisecond): // within the guard it is not heard
		}
	}
	s.types("\r\ra\r")
	if got := h.Next(t); string(got.Args) != `{"n":1}` {
		t.Errorf("settled %s", got.Args)
	}
	s.sees("/n = 2")
	if _, ok := h.Question(second); !ok {
		t.Error("the second was answered with the first")
	}
}

// What is pasted is not typed.
func TestPasteDecidesNothing(t *testing.T) {
	h, dir := hallIn(t, "fs")
	id := h.Ask(controltest.Write(`{}`))
	s := sit(t, at(dir), 80, 24)
	s.sees("a allow")
	s.types("\x1b[200~a\r\x1b[201~d")
	s.sees("deny, because (may be empty):")
	if _, ok := h.Question(id); !ok {
		t.Error("it was answered")
	}
}

// First valid answer wins, and all views say who: two terminals and somebody
// in the topic.
func TestAllTerminalsSayWhoAnswered(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := controltest.Write(`{}`)
	q.Terms.Of = []string{"local", "alice"}
	first := h.Ask(q)
	one, two := sit(t, at(dir), 80, 24), sit(t, at(dir), 80, 24)
	one.sees("a allow")
	two.sees("a allow")
	two.types("d") // is typing when the other answers
	two.sees("deny, because")
	one.types("a\r")
	one.sees("allowed by you")
	two.sees("allowed by local")
	two.misses("deny, because")
	if got := h.Next(t); got.ID != first || got.Outcome != approval.Allowed {
		t.Errorf("settled as %+v", got)
	}
	second := h.Ask(q)
	one.sees("a allow")
	h.Say(t, "alice", second, `{"action":"decline"}`)
	one.sees("denied by alice")
	two.sees("denied by alice")
}

func TestTimeRunsOutBeforeTheEyes(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := controltest.Write(`{}`)
	q.Terms.Within = 1500 * time.Millisecond
	h.Ask(q)
	s := sit(t, at(dir), 80, 24)
	s.sees("0:00 left")
	for len(h.Settled) == 0 {
		h.Tick()
		time.Sleep(10 * time.Millisecond)
	}
	s.sees("]: expired")
	s.sees("nothing to decide")
}

func TestSeveralBridgesInOneList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "control")
	fs := controltest.New("fs")
	fs.Open(t, dir)
	fs.Ask(controltest.Write(`{"n":1}`))
	s := sit(t, at(dir), 100, 24)
	s.sees("1 of 1   fs in lobby")
	notes := controltest.New("notes") // starts later, and is found
	d := notes.Open(t, dir)
	notes.Ask(controltest.Write(`{"n":2}`))
	s.sees("1 of 2")
	s.types("l")
	s.sees("2 questions")
	s.sees("> write_file for agent-a on fs in lobby")
	s.types("j")
	s.sees("> write_file for agent-a on notes in lobby")
	s.types("\r")
	s.sees("2 of 2   notes in lobby")
	s.sees("a allow")
	s.types("a\r")
	if got := notes.Next(t); got.Outcome != approval.Allowed || string(got.Args) != `{"n":2}` {
		t.Errorf("settled as %+v", got)
	}
	s.sees("1 of 1   fs in lobby")
	d.Close()
	s.sees("notes in lobby is gone")
}

// The prompt of a bridge leaves the log alone: what is logged stands above, in
// whole lines, in order.
func TestLogGoesAboveTheQuestion(t *testing.T) {
	h, dir := hallIn(t, "fs")
	s := sit(t, prompt.Options{Find: prompt.Bridges(dir, nil), Resident: true}, 80, 24)
	fmt.Fprintln(s.p.Above(), "log line 0")
	s.sees("log line 0")
	h.Ask(controltest.Write(`{}`))
	s.sees("a allow")
	for i := 1; i < 50; i++ {
		fmt.Fprintf(s.p.Above(), "log line %d\n", i)
	}
	fmt.Fprint(s.p.Above(), "half a line")
	s.types("a")
	s.sees("Enter allows it")
	fmt.Fprint(s.p.Above(), " and the rest\n")
	s.sees("half a line and the rest\n")
	s.types("\r")
	h.Next(t)
	s.sees("allowed by you")
	s.misses("Arguments")
	want := 0
	for line := range strings.Lines(s.glass.String()) {
		if strings.HasPrefix(line, "log line") {
			if line != fmt.Sprintf("log line %d\n", want) {
				t.Fatalf("instead of line %d: %s", want, s.glass)
			}
			want++
		}
	}
	if want != 50 {
		t.Errorf("%d lines of the log are there:\n%s", want, s.glass)
	}
	s.types("q")
	h.Ask(controltest.Write(`{}`)) // and it is still there
	s.sees("a allow")
}

func TestSmallTerminal(t *testing.T) {
	h, dir := hallIn(t, "fs")
	h.Ask(controltest.Write(`{"text":"` + strings.Repeat("long ", 200) + `"}`))
	s := sit(t, at(dir), 24, 8)
	s.sees("Space more")
	s.types("x")
	s.sees("a allow")
	s.types("a")
	s.sees("Enter")
	s.types("\r")
	if got := h.Next(t); got.Outcome != approval.Allowed {
		t.Errorf("settled as %+v", got)
	}
}
