package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

const (
	readsOnly    = "version: 1\ndefault: deny\nrules:\n - {name: reads, allow: ['read_*']}\n"
	neverSecrets = " - {name: never-secrets, deny: ['*'], args: {path: {glob: ['**/.ssh/**']}}}\n"
)

// reads reports whether bob may read a key.
func (s *stage) readsKey() bool {
	before := s.asked()
	s.call("bob", fmt.Sprint("k", s.now.UnixNano(), len(s.notes)), "7", "read_file", `{"path":"/home/a/.ssh/id_rsa"}`)
	return s.asked() > before
}

// A yes to the return of a rule was one to the loss of the deny that had gone with it.
func TestAStricterFileInBetweenHidTheLossOfADeny(t *testing.T) {
	for name, between := range map[string]string{
		"nothing is let through": "version: 1\ndefault: deny\n",
		"all tools are denied":   readsOnly + " - {deny: ['*']}\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := reloadStage(t)
			s.do(Reloaded{rules(t, readsOnly+neverSecrets)})
			if _, open := s.saves(between); open || s.eventsOf(record.Reloaded) != 2 {
				t.Fatal("a stricter file waits")
			}
			v, open := s.saves(readsOnly)
			if !open || !strings.Contains(v.Text(), "never-secrets") {
				t.Fatalf("open %v, and the person is shown:\n%s", open, v.Text())
			}
			if s.decides(v, `{"action":"decline"}`); s.readsKey() {
				t.Error("it counts after a no")
			}
			if v, _ = s.saves(readsOnly + "# again\n"); !strings.Contains(v.Text(), "never-secrets") {
				t.Errorf("after a no the person is shown:\n%s", v.Text())
			}
			s.decides(v, yes)
			if !s.readsKey() {
				t.Error("what was agreed to does not count")
			}
			s.saves("version: 1\ndefault: deny\n")
			if v, _ = s.saves(readsOnly + "# once more\n"); strings.Contains(v.Text(), "never-secrets") {
				t.Errorf("what was agreed to is asked about again:\n%s", v.Text())
			}
		})
	}
}

// What is asked about stands behind a rule against which it counts once: of a file that
// is stricter than what was agreed to, all the way, nothing is asked.
func TestAStricterFileAfterAStricterOneCountsAtOnce(t *testing.T) {
	s := reloadStage(t)
	s.do(Reloaded{rules(t, readsOnly+neverSecrets)})
	for _, text := range []string{readsOnly + " - {deny: ['*']}\n", "version: 1\ndefault: deny\n", "version: 1\ndefault: deny\nrules: [{deny: ['*']}]\n"} {
		if v, open := s.saves(text); open {
			t.Errorf("%s\n%s", text, v.Text())
		}
	}
}

// Harmless rules in front, and the one that opened everything was counted, not shown.
func TestBehindAHundredHarmlessRulesTheOneThatOpensAllWasNotShown(t *testing.T) {
	s := reloadStage(t)
	v, open := s.saves(harmless(5000) + " - {name: rest, allow: ['*']}\n")
	if !open || !strings.Contains(v.Text(), "tool_4999") || !strings.Contains(v.Text(), "allow *") {
		t.Fatalf("open %v, and the person is shown %d bytes", open, len(v.Text()))
	}
	if s.decides(v, yes); !s.mayDelete() {
		t.Error("what was agreed to does not count")
	}
}

func harmless(n int) string {
	var b strings.Builder
	b.WriteString("version: 1\ndefault: deny\nrules:\n - {name: some, allow: ['read_*', 'write_*']}\n")
	for i := range n {
		fmt.Fprintf(&b, " - {name: r%d, allow: [tool_%d]}\n", i, i)
	}
	return b.String()
}

// What nobody could read to the end nobody is asked about, and it does not count.
func TestAFileThatIsLooserInMoreThanAnybodyReadsDoesNotCount(t *testing.T) {
	long := times("a", policy.MaxFile/2-200) // "a, " in words, and each rule is named by it too
	many := func(effect string) string {
		var b strings.Builder
		b.WriteString("version: 1\ndefault: deny\nrules:\n")
		for i := range approval.MaxAskedValues/2 + 1 {
			fmt.Fprintf(&b, " - {%s: [t%d]}\n", effect, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ before, text string }{
		"too many bytes":  {"version: 1\ndefault: deny\nrules:\n - {deny: [" + long + "]}\n", "version: 1\ndefault: deny\nrules:\n - {allow: [" + long + "]}\n - {name: rest, allow: ['*']}\n"},
		"too many values": {many("deny"), many("allow")},
	} {
		t.Run(name, func(t *testing.T) {
			s := reloadStage(t)
			s.do(Reloaded{rules(t, c.before)})
			s.saves(looserRules)
			_, open := s.saves(c.text)
			if open || s.mayDelete() || !s.noted(record.ReloadDecided, "too_large") {
				t.Fatalf("open %v, %d notes", open, len(s.notes))
			}
			v, open := s.saves(looserRules)
			if !open {
				t.Fatal("the next file is not asked about")
			}
			if s.decides(v, yes); !s.mayDelete() {
				t.Error("a smaller step does not count")
			}
		})
	}
}
