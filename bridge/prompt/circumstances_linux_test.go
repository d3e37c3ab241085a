package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// squeezed is a text without what depends on where its lines are broken.
func squeezed(s string) string { return strings.NewReplacer(" ", "", "\n", "", "┆", "").Replace(s) }

// saysAll waits until all of these are to be read at one time, wherever lines are broken.
func (s *person) saysAll(what ...string) {
	s.Helper()
	late := time.After(20 * time.Second)
	for _, each := range what {
		for !strings.Contains(squeezed(s.Terminal.String()), squeezed(each)) {
			select {
			case <-s.Changed():
			case <-late:
				s.Fatalf("%q is not to be read:\n%s", each, s.Terminal)
			}
		}
	}
}

// The arguments come first; then what the tool does by the word of its server, why one is
// asked, and who decides.
func TestWhatOneMustKnowStandsBehindTheArguments(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		q := inboxtest.Write(`{"path":"/a"}`)
		q.About, q.Hints = "Write\x1b a file", policy.Hints{ReadOnly: new(false), Destructive: new(true)}
		q.Terms.Of, q.Terms.Need = []string{"local", "alice", "bob"}, 2
		id := h.Ask(q)
		h.Say(t, "alice", id, `{"action":"accept","content":{"approve":true}}`)
		s := sit(t, dir, prompt.Options{}, columns, 24)
		s.saysAll(`Arguments /path = "/a" Server says Write\u{1b} a file; writes, may destroy Why asked rule small-writes Needs 2; alice agreed Waiting for you, bob Bridge fs`)
		s.Misses("Tool   ") // the headline says it
	}
}

func TestWhyOneIsAskedIsSaidWithoutARuleAndForAProposal(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		q := inboxtest.Write(`{"path":"/a"}`)
		q.Via, q.Terms.Rules = "proposal", nil
		h.Ask(q)
		s := sit(t, dir, prompt.Options{}, columns, 24)
		s.saysAll("Proposal nobody has called yet; with a yes this bridge makes the call Why asked no rule names it Waiting for you")
	}
}

// Where a bridge takes answers at its own terminal alone, who looks from elsewhere is offered
// no keys: they would be refused afterwards.
func TestWhoMayOnlyLookIsOfferedNoKeys(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h := inboxtest.New("fs")
		for n := range 2 {
			asks(h, "mallory", n)
		}
		s := sitBefore(t, prompt.Only(&prompt.Found{Inbox: inbox.LookOnly(h), Name: "fs", Label: "fs in lobby"}), prompt.Options{}, columns, 24)
		s.saysAll("1 of 2", "/n = 0", "answered only at the terminal of the bridge (--answers terminal) n p l others q quit")
		for _, key := range []string{"a", "d", "e", "r"} {
			s.Types(key)
			s.saysAll("it is answered only at the terminal of the bridge")
			s.Types("j")
			s.saysAll("n p l others")
		}
		s.Types("l")
		s.saysAll("2 questions > write_file for mallory on", "Enter open j k move")
		s.Types("Dj") // where D asked whether to deny them, j would be a word of the reason
		s.saysAll("left > write_file for mallory on")
		s.Misses("deny")
		if len(h.Settled) > 0 {
			t.Error("it is decided")
		}
	}
}

// What a yes would have remembered is said where it is chosen, and again where it is
// confirmed, with the arguments still there.
func TestRememberIsChosenAndSaid(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		q := inboxtest.Write(`{"path":"/a"}`)
		q.Terms.Remember = []string{"once", "session", "always"}
		id := h.Ask(q)
		s := sit(t, dir, prompt.Options{}, columns, 24)
		s.saysAll("r remember: no", "a allow")
		s.Types("r")
		s.saysAll("r remember: this very call of agent-a, until ", "or until the caller leaves or the bridge stops")
		s.Types("a")
		s.saysAll("allow this call, and remember this very call of agent-a, until ", "or until the caller leaves or the bridge stops? type "+s.short(h, id)[:2]+"; any other key goes back", `/path = "/a"`)
		s.Types(s.short(h, id)[:2])
		if got := h.Next(t); got.Outcome != approval.Allowed || got.Made == nil || got.Made.Keep != "session" {
			t.Errorf("settled as %+v", got)
		}
	}
}

// What a wider yes would cover is on the screen before it counts.
func TestWhatAFolderCoversIsSaid(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		q := inboxtest.Write(`{"path":"/srv/docs/a","text":"x"}`)
		q.Terms.Remember, q.Terms.Folder = []string{"once", "folder"}, "/path"
		id := h.Ask(q)
		s := sit(t, dir, prompt.Options{}, columns, 30)
		s.saysAll("r remember: no", "a allow")
		s.Types("r")
		s.saysAll(`every call of write_file with path in the folder "/srv/docs", text anything at all, and no other arguments`)
		s.Types("a")
		s.saysAll(`allow this call, and remember every call of write_file with path in the folder "/srv/docs", text anything at all, and no other arguments, runs unasked until the bridge stops or the caller leaves, for 8 hours at most`)
		s.Types(s.short(h, id)[:2])
		if got := h.Next(t); got.Outcome != approval.Allowed || got.Made == nil || got.Made.Keep != "folder" {
			t.Errorf("settled as %+v", got)
		}
	}
}

// The lost line was the first one: who asks for what. The log and the circumstances give way to
// it, and to the arguments, while one confirms and while one is told why not.
func TestWhoAsksForWhatStaysWhileOneConfirms(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		q := inboxtest.Write(`{"path":"/srv/notes/todo.txt","content":"# To do\n- water the plants\n- call ann\n- mend the gate\n- write the report\n"}`)
		q.Caller, q.Hints = "bob", policy.Hints{ReadOnly: new(false), Destructive: new(true)}
		q.About = "Create a new file or completely overwrite an existing file with new content. Use with caution as it will overwrite existing files without warning."
		id := h.Ask(q)
		s := sit(t, dir, prompt.Options{Resident: true, Silence: time.Hour}, columns, 24)
		for i := range 24 {
			fmt.Fprintf(s.p.Above(), "log line %d\n", i)
		}
		s.Sees("log line 23", "d deny")
		s.Types("x")
		s.Sees("a allow")
		stays := func(what string) {
			t.Helper()
			s.saysAll(what, "bob requests permission to execute write_file Arguments /path = \"/srv/notes/todo.txt\" /content = 6 lines │ # To do",
				"│ - write the report │")
			if _, ours, _ := strings.Cut(s.Terminal.String(), " 1 of 1   fs"); strings.Count(ours, "\n") >= 24 {
				t.Errorf("it has more lines than the terminal:\n%s", ours)
			}
		}
		first := s.short(h, id)[:2]
		s.Types("a")
		stays("allow this call? type " + first + "; any other key goes back >")
		s.Types(map[bool]string{true: "1", false: "0"}[first[0] == '0'])
		stays("that is not " + first + "…: type a, then the first two characters of the digest; answers are locked until you stop typing for a second")
		s.Types("z")
		stays("that key is no answer; is this the right window? answers are locked until you stop typing for a second")
	}
}

// What an approver changed is agreed to once.
func TestWhatIsChangedIsNotRemembered(t *testing.T) {
	h, dir := hallIn(t, "fs")
	q := inboxtest.Write(`{"n":1}`)
	q.Terms.Remember = []string{"once", "session"}
	q.Terms.Edit = []policy.Edit{{Field: "count", Arg: "/n", Title: "How often", Type: "integer"}}
	id := h.Ask(q)
	s := sit(t, dir, prompt.Options{}, 80, 24)
	s.Sees("a allow", "e edit")
	s.Types("r")
	s.saysAll("r remember: this very call")
	s.Types("e")
	s.Sees("How often: 1")
	s.Types("\x157\r")
	s.saysAll("allow this call with count = 7 (what is changed is allowed once, and not remembered)?")
	s.Types(s.short(h, id)[:2])
	if got := h.Next(t); got.Made != nil || string(got.Args) != `{"n":7}` {
		t.Errorf("settled as %+v", got)
	}
}
