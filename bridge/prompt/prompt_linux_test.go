package prompt_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// short is the digest of a question as people see it.
func (s *person) short(h *inboxtest.Hall, id string) string {
	s.Helper()
	v, ok := h.Question(id)
	if !ok {
		s.Fatal("it is not open any more")
	}
	return v.Short
}

// allows agrees to the question that is on the screen.
func (s *person) allows(h *inboxtest.Hall, id string) {
	s.Helper()
	short := s.short(h, id)
	s.Sees("a allow")
	s.Types("a")
	s.Sees("? type " + short[:2])
	s.Types(short[:2])
}

func TestAllowTakesAKeyAndTheDigest(t *testing.T) {
	h, dir := hallIn(t, "fs")
	id := h.Ask(inboxtest.Write(`{"path":"/a","text":"x"}`))
	s := sit(t, dir, prompt.Options{}, 100, 30)
	s.Sees("agent-a requests permission to execute write_file")
	for _, what := range []string{"1 of 1   fs in lobby", "Bridge       fs (notes-server)", "Why asked    rule small-writes", `/path = "/a"`, "left", "a allow   d deny", "Waiting for  you"} {
		s.Sees(what)
	}
	s.allows(h, id)
	if got := h.Next(t); got.Outcome != approval.Allowed || string(got.Args) != `{"path":"/a","text":"x"}` {
		t.Errorf("settled as %+v", got)
	}
	s.Sees("allowed by you")
	s.Sees("nothing to decide; watching fs in lobby")
	if strings.Contains(s.Terminal.String(), "Arguments") {
		t.Errorf("the question is still there:\n%s", s.Terminal)
	}
	s.Types("q")
	s.leaves()
	if !s.Canonical() {
		t.Error("the terminal is not what it was")
	}
}

func TestAnyKeyButTheDigestTakesItBack(t *testing.T) {
	h, dir := hallIn(t, "fs")
	id := h.Ask(inboxtest.Write(`{}`))
	s := sit(t, dir, prompt.Options{Silence: time.Nanosecond}, 80, 24)
	wrong := string(s.short(h, id)[0] ^ 1) // not how the digest begins
	for _, k := range []string{"\x1b", "\r", "n", "a\r", " ", wrong, s.short(h, id)[:1] + "\r", s.short(h, id)[:1] + "z"} {
		s.Sees("a allow")
		s.Types("a")
		s.Sees("any other key goes back")
		s.Types(k)
		s.Misses("any other key goes back")
	}
	s.Sees("a allow")
	if _, ok := h.Question(id); !ok {
		t.Error("it was answered")
	}
}

// Whoever confirms sees what is agreed to (FINDINGS U4).
func TestTheArgumentsStayOnTheScreenWhileOneConfirms(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := inboxtest.Write(`{"path":"/srv/a.txt","text":"short"}`)
	q.Terms.Remember = []string{"session", "always"}
	id := h.Ask(q)
	s := sit(t, dir, prompt.Options{Resident: true}, 80, 11)
	s.Sees("Space more")
	s.Types("x")
	s.Sees("a allow")
	s.Types("r")
	s.Sees("remember: this very call")
	s.Types("a")
	s.Sees("? type "+s.short(h, id)[:2], `/path = "/srv/a.txt"`, `/text = "short"`)
	s.Types("\x1b") // and where one was is where one is again
	s.Misses("any other key goes back")
	s.Sees("a allow")
}

func TestDenyWithAReason(t *testing.T) {
	h, dir := hallIn(t, "fs")
	h.Ask(inboxtest.Write(`{}`))
	s := sit(t, dir, prompt.Options{}, 80, 24)
	s.Sees("d deny")
	s.Types("d")
	s.Sees("deny, because")
	s.Types("not odayxx\x7f\x7f\x1b[D\x1b[D\x1b[D\x1b[Dt\r")
	if got := h.Next(t); got.Outcome != approval.Denied || got.Reason != approval.Declined || got.Said != "not today" {
		t.Errorf("settled as %+v", got)
	}
	s.Sees("denied by you")
}

func TestEditChangesWhatRuns(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := inboxtest.Write(`{"target":"production","n":1}`)
	q.Terms.Edit = []policy.Edit{
		{Field: "modifiedTarget", Arg: "/target", Title: "Target system", Type: "string", Enum: []string{`"production"`, `"staging"`}},
		{Field: "count", Arg: "/n", Title: "How often", Type: "integer", Min: "1", Max: "9"},
	}
	id := h.Ask(q)
	s := sit(t, dir, prompt.Options{}, 120, 30)
	s.Sees("e edit")
	s.Types("e")
	s.Sees("Target system (Tab): production")
	s.Types("\t")
	s.Sees("Target system (Tab): staging")
	s.Types("\r")
	s.Sees("How often (1 to 9): 1")
	s.Types("\x150\r")
	s.Sees("must be at least 1")
	s.Types("\x157\r")
	s.Sees(`allow this call with modifiedTarget = "staging", count = 7`)
	s.Types(s.short(h, id)[:2])
	if got := h.Next(t); got.Outcome != approval.Allowed || string(got.Args) != `{"target":"staging","n":7}` {
		t.Errorf("settled as %+v %s", got, got.Args)
	}
}

// To pass a question on to somebody who is away is a slip, and costs nothing.
func TestWhoIsAwayIsAHint(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		q := inboxtest.Write(`{}`)
		q.Terms.Delegate = &policy.Delegate{To: []string{"ann", "carol"}, Depth: 1}
		id := h.Ask(q)
		h.Here("ann", false)
		s := sit(t, dir, prompt.Options{}, columns, 24)
		s.Sees("g pass on")
		s.Types("g")
		s.Sees("pass on to (Tab): carol") // who is here comes first
		for range 3 {
			s.Types("\x15ann\r")
			s.saysAll("ann is not here now, so nothing was sent", "pass on to (Tab): ann")
			s.Types("\x7f")
			s.Misses("not here now")
		}
		h.Here("ann", true) // and is known to be here at the second try
		s.Types("n\r")
		for s.stays(h, id) {
			s.Types("\r")
			select {
			case <-s.Changed():
			case <-time.After(50 * time.Millisecond): // it is being looked up
			}
		}
		s.Sees("passed on to ann")
	}
}

// stays reports whether it is still with the local person.
func (s *person) stays(h *inboxtest.Hall, id string) bool {
	v, _ := h.Question(id)
	return slices.Contains(v.Asking, "local")
}

// Who is asked already, or calls, was offered, and then it was not passed on.
func TestWhoIsAskedAlreadyIsNotOfferedIt(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		q := inboxtest.Write(`{}`)
		q.Terms.Of = []string{"local", "ann"}
		q.Terms.Delegate = &policy.Delegate{To: []string{"ann", "agent-a"}, Depth: 1}
		id := h.Ask(q)
		s := sit(t, dir, prompt.Options{}, columns, 24)
		s.Sees("d deny")
		s.Misses("g pass on")
		s.Types("g")
		s.saysAll("everybody is asked already whom it could be passed on to")
		h.Withdraw(id)
		q.Terms.Delegate.To = []string{"ann", "agent-a", "carol"}
		h.Ask(q)
		s.Sees("g pass on")
		s.Types("g")
		s.Sees("pass on to (Tab): carol")
		s.Types("\t\x15ann\r")
		s.saysAll("it can be passed on to: carol pass on to (Tab): ann")
		s.Types("\x15carol\r")
		s.Sees("passed on to carol")
	}
}

func TestPassItOn(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := inboxtest.Write(`{}`)
	q.Terms.Delegate = &policy.Delegate{To: []string{"carol", "dave"}, Depth: 1}
	id := h.Ask(q)
	s := sit(t, dir, prompt.Options{}, 100, 30)
	s.Sees("g pass on")
	s.Types("g")
	s.Sees("pass on to (Tab): carol")
	s.Types("\t\r")
	s.Sees("passed on to dave")
	s.Sees("asked: dave")
	s.Types("a")
	s.Sees("this is not for you to decide now; asked: dave")
	h.Say(t, "dave", id, `{"action":"accept","content":{"action":"approve"}}`)
	if got := h.Next(t); got.Outcome != approval.Allowed || len(got.Chain) != 1 {
		t.Errorf("settled as %+v", got)
	}
	s.Sees("allowed")
}

// AI-15, AI-16: the terminal shows what cannot be seen, and allows nothing
// that was not shown to its end.
func TestAI15LongAndHiddenTextMustBeReadToTheEnd(t *testing.T) {
	h, dir := hallIn(t, "fs")
	id := h.Ask(inboxtest.Write(`{"path":"safe\u202etxt.exe","text":"` + strings.Repeat("all is well ", 400) + `\u001b[2J rm -rf"}`))
	s := sit(t, dir, prompt.Options{}, 80, 20)
	s.Sees(`! contains 1 direction-control character, shown as \u{…}`)
	s.Sees(`safe\u{202e}txt.exe`)
	s.Sees("Space more")
	s.Types("a")
	s.Sees("read it to the end first")
	page := ""
	for was, last := "", false; !last; {
		if page, was, last = s.nextPart(was, "a allow"); !last {
			s.Types(" ")
		}
	}
	if !strings.Contains(page, `u{1b}[2J rm -rf`) {
		t.Error("the end of the text was not seen")
	}
	s.allows(h, id)
	if got := h.Next(t); got.Outcome != approval.Allowed {
		t.Errorf("settled as %+v", got)
	}
}

// A value that runs over the edge of the screen cannot look like a line of the
// bridge's own.
func TestAI15WrappedTextIsMarked(t *testing.T) {
	h, dir := hallIn(t, "fs")
	for pad := range 40 {
		h.Ask(inboxtest.Write(`{"a":"` + strings.Repeat("x", 30+pad) + `Digest       00000000"}`))
	}
	s := sit(t, dir, prompt.Options{}, 60, 30)
	for i := range 40 {
		s.Sees(fmt.Sprintf("%d of 40", i+1))
		s.Sees("d deny")
		for line := range strings.Lines(s.Terminal.String()) {
			if strings.HasPrefix(line, "Digest       00000000") {
				t.Fatalf("a forged line:\n%s", s.Terminal)
			}
		}
		s.Types("n")
	}
}

// Keys typed before the question was on the screen decide nothing.
func TestTypeAheadDecidesNothing(t *testing.T) {
	h, dir := hallIn(t, "fs")
	s := sit(t, dir, prompt.Options{Guard: time.Hour}, 80, 24)
	s.Sees("nothing to decide")
	s.Types("a\ra\r")
	id := h.Ask(inboxtest.Write(`{}`))
	s.Sees("a allow")
	s.Types("a\rd\r") // and not in the moment after
	other := h.Ask(inboxtest.Write(`{}`))
	s.Sees("of 2")
	s.Types("n") // moving is free
	s.Sees("2 of 2")
	s.Types("a\r")
	s.Types("n")
	s.Sees("1 of 2")
	for _, id := range []string{id, other} {
		if _, ok := h.Question(id); !ok {
			t.Error("it was answered")
		}
	}
}

// What is typed beyond an answer falls on the next question and does nothing.
func TestAnAnswerTypedTwiceAnswersOnce(t *testing.T) {
	h, dir := hallIn(t, "fs")
	first, second := h.Ask(inboxtest.Write(`{"n":1}`)), h.Ask(inboxtest.Write(`{"n":2}`))
	s := sit(t, dir, prompt.Options{Guard: 200 * time.Millisecond}, 80, 24)
	s.Sees("1 of 2")
	s.Sees("a allow")
	time.Sleep(200 * time.Millisecond) // what a person takes to read it
	s.Types("a")
	s.Sees("any other key goes back")
	time.Sleep(200 * time.Millisecond) // and that
	s.Types(s.short(h, first)[:2] + "a" + s.short(h, second)[:2] + "\r")
	if got := h.Next(t); string(got.Args) != `{"n":1}` {
		t.Errorf("settled %s", got.Args)
	}
	s.Sees("/n = 2")
	if _, ok := h.Question(second); !ok {
		t.Error("the second was answered with the first")
	}
}

// What is pasted is not typed.
func TestPasteDecidesNothing(t *testing.T) {
	h, dir := hallIn(t, "fs")
	id := h.Ask(inboxtest.Write(`{}`))
	s := sit(t, dir, prompt.Options{}, 80, 24)
	s.Sees("a allow")
	s.Types("\x1b[200~a\r\x1b[201~d")
	s.Sees("deny, because (may be empty):")
	if _, ok := h.Question(id); !ok {
		t.Error("it was answered")
	}
}

// reads waits until a question is whole before somebody's eyes: its own, for its
// digest stands with the keys that answer it.
func (s *person) reads(h *inboxtest.Hall, id string) {
	s.Helper()
	v, ok := h.Question(id)
	if !ok {
		s.Fatal("it is not open any more")
	}
	s.Sees("Digest       "+v.Short, "a allow")
}

// First valid answer wins, and all views say who: two terminals and somebody
// in the topic.
func TestAI05AllTerminalsSayWhoAnswered(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := inboxtest.Write(`{}`)
	q.Terms.Of = []string{"local", "alice"}
	one, two := sit(t, dir, prompt.Options{}, 80, 24), sit(t, dir, prompt.Options{}, 80, 24)
	bothRead := func() (id string) {
		t.Helper()
		one.Sees("nothing to decide; watching fs")
		two.Sees("nothing to decide; watching fs")
		id = h.Ask(q)
		one.reads(h, id)
		two.reads(h, id)
		two.Types("d") // is typing when the other answers
		two.Sees("deny, because")
		return id
	}

	first := bothRead()
	one.allows(h, first)
	if got := h.Next(t); got.ID != first || got.Outcome != approval.Allowed || len(got.By) != 1 || got.By[0].Door != approval.Local {
		t.Errorf("settled as %+v", got)
	}
	one.Sees("]: allowed by you")
	two.Sees("]: answered elsewhere: allowed by", " local", "nothing was sent")
	two.Misses("deny, because")

	second := bothRead()
	h.Say(t, "alice", second, `{"action":"decline"}`)
	if got := h.Next(t); got.ID != second || got.Outcome != approval.Denied || len(got.By) != 1 || got.By[0] != approval.Participant("alice") {
		t.Errorf("settled as %+v", got)
	}
	for _, s := range []*person{one, two} {
		s.Sees("]: denied by alice")
		s.Sees("nothing to decide; watching fs")
		s.Misses("deny, because")
	}
}

func TestTimeRunsOutBeforeTheEyes(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := inboxtest.Write(`{}`)
	q.Terms.Within = 1500 * time.Millisecond
	h.Ask(q)
	s := sit(t, dir, prompt.Options{}, 80, 24)
	s.Sees("0:00 left")
	for len(h.Settled) == 0 {
		h.Tick()
		time.Sleep(10 * time.Millisecond)
	}
	s.Sees("]: expired")
	s.Sees("nothing to decide")
}

func TestSeveralBridgesInOneList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "control")
	fs := inboxtest.New("fs")
	fs.Open(t, dir)
	fs.Ask(inboxtest.Write(`{"n":1}`))
	s := sit(t, dir, prompt.Options{}, 100, 24)
	s.Sees("1 of 1   fs in lobby")
	notes := inboxtest.New("notes") // starts later, and is found
	d := notes.Open(t, dir)
	id := notes.Ask(inboxtest.Write(`{"n":2}`))
	s.Sees("1 of 2")
	s.Types("l")
	s.Sees("2 questions")
	s.Sees("> write_file for agent-a on fs in lobby")
	s.Types("j")
	s.Sees("> write_file for agent-a on notes in lobby")
	s.Types("\r")
	s.Sees("2 of 2   notes in lobby")
	s.allows(notes, id)
	if got := notes.Next(t); got.Outcome != approval.Allowed || string(got.Args) != `{"n":2}` {
		t.Errorf("settled as %+v", got)
	}
	s.Sees("1 of 1   fs in lobby")
	d.Close()
	s.Sees("notes in lobby is gone")
}

// The prompt of a bridge leaves the log alone: what is logged stands above, in
// whole lines, in order.
func TestLogGoesAboveTheQuestion(t *testing.T) {
	h, dir := hallIn(t, "fs")
	s := sit(t, dir, prompt.Options{Resident: true}, 80, 24)
	fmt.Fprintln(s.p.Above(), "log line 0")
	s.Sees("log line 0")
	id := h.Ask(inboxtest.Write(`{}`))
	s.Sees("a allow")
	for i := 1; i < 50; i++ {
		fmt.Fprintf(s.p.Above(), "log line %d\n", i)
	}
	fmt.Fprint(s.p.Above(), "half a line")
	s.Types("a")
	s.Sees("any other key goes back")
	fmt.Fprint(s.p.Above(), " and the rest\n")
	s.Sees("half a line and the rest\n")
	s.Types(s.short(h, id)[:2])
	h.Next(t)
	s.Sees("allowed by you")
	s.Misses("Arguments")
	want := 0
	for line := range strings.Lines(s.Terminal.String()) {
		if strings.HasPrefix(line, "log line") {
			if line != fmt.Sprintf("log line %d\n", want) {
				t.Fatalf("instead of line %d: %s", want, s.Terminal)
			}
			want++
		}
	}
	if want != 50 {
		t.Errorf("%d lines of the log are there:\n%s", want, s.Terminal)
	}
	s.Types("q")
	h.Ask(inboxtest.Write(`{}`)) // and it is still there
	s.Sees("a allow")
}

func TestSmallTerminal(t *testing.T) {
	h, dir := hallIn(t, "fs")
	id := h.Ask(inboxtest.Write(`{"text":"` + strings.Repeat("long ", 200) + `"}`))
	s := sit(t, dir, prompt.Options{}, 24, 8)
	s.Sees("Space more")
	s.Types("x")
	s.Sees("a allow")
	s.Types("a")
	s.Sees("allow this call?")
	s.Types(s.short(h, id)[:2])
	if got := h.Next(t); got.Outcome != approval.Allowed {
		t.Errorf("settled as %+v", got)
	}
}
