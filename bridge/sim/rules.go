package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// policies is how many policies there are to draw from.
const policies = 96

// tools are those of the server; the last is only sometimes there.
var tools = []string{"read", "write", "pay", "wipe", "note", "deploy"}

// ruled are the tools, and what else the policies have rules for.
var ruled = append(slices.Clone(tools), reads)

// A verdict is what a policy says of a tool, in the world's own words.
type verdict uint8

const (
	deny verdict = iota
	ask
	allow
)

// reads stands among the tools for resources/read.
const reads = "resources/read"

// A way is how a policy treats one tool: the world's own idea of it, which the
// checker goes by and the Engine never sees.
type way struct {
	verdict    verdict
	of         []string
	need       int
	within     time.Duration
	sequential bool
	to         []string // to whom it may be passed on
	uses       int      // of a plan: how often it may cover a call at most; 0: it is about none
	edit       bool     // the amount may be changed, 1 to 100
	remember   []string
	confirm    bool // a yes takes a passkey
	why        bool // callers have to say why they call
	reads      bool // it is about reads, which have no argument n that an answer could mean to change
	note       bool // it is about notes
}

// A rulebook is one policy, twice: as the world knows it and as the Engine
// reads it.
type rulebook struct {
	ways   map[string]way
	pin    string
	fulfil string   // what becomes of proposals that may run: ask, policy, never
	open   bool     // those to nobody are ours too
	pass   []string // what may stand beside the arguments
	usual  way      // how is asked about what no rule asks about
	seals  bool     // one note takes a passkey, by a rule of its own
	text   string
	loaded *policy.Policy
}

var (
	rulebooks     [policies]*rulebook
	rulebooksOnce [policies]sync.Once
)

// rulebookOf is the n-th policy, always the same.
func rulebookOf(n int) *rulebook {
	rulebooksOnce[n].Do(func() { rulebooks[n] = newRulebook(n) })
	return rulebooks[n]
}

func newRulebook(n int) *rulebook {
	d := newDice(uint64(n), "rulebook")
	b := &rulebook{ways: map[string]way{}, pin: pick(d, "off", "off", "ask", "block", "warn")}
	for _, tool := range tools {
		b.ways[tool] = newWay(d, tool)
	}
	b.ways[reads] = newWay(newDice(uint64(n), reads), reads)
	for _, tool := range ruled {
		b.ways[tool] = b.ways[tool].justified(newDice(uint64(n), "why "+tool))
	}
	d = newDice(uint64(n), "proposals")
	b.fulfil, b.open = pick(d, "ask", "policy", "policy", "never"), d.chance(.6)
	b.pass = passing(newDice(uint64(n), "pass"))
	b.usual = newUsual(newDice(uint64(n), "usual"))
	b.write()
	return b
}

// with is the rulebook with the way of each tool changed.
func (b *rulebook) with(change func(way) way) *rulebook {
	s := &rulebook{ways: map[string]way{}, pin: b.pin, fulfil: b.fulfil, open: b.open, pass: b.pass, usual: b.usual, seals: b.seals}
	for _, tool := range ruled {
		s.ways[tool] = change(b.ways[tool])
	}
	s.write()
	return s
}

// stricter is the rulebook with tools treated more strictly: what was allowed
// is asked about or denied, what was asked about is denied.
func (b *rulebook) stricter(d dice) *rulebook {
	return b.with(func(w way) way {
		if d.chance(.5) {
			switch w.verdict {
			case allow:
				w = way{verdict: ask, of: []string{"alice", "bob"}, need: 1, within: time.Minute, why: w.why, reads: w.reads}
			case ask:
				w = way{verdict: deny}
			}
		}
		return w
	})
}

// wider is the rulebook with notes remembered whatever they say, where they are remembered for
// a session.
func (b *rulebook) wider() *rulebook {
	return b.with(func(w way) way {
		if len(w.remember) > 0 {
			w.remember = append(slices.Clone(w.remember), "folder", "tool")
		}
		return w
	})
}

// confirming is the rulebook with a yes taking a passkey wherever one person is enough who may
// have one.
func (b *rulebook) confirming() *rulebook {
	return b.with(func(w way) way {
		if w.verdict == ask && w.need == 1 && slices.Contains(w.of, "local") {
			w.confirm, w.remember, w.to = true, nil, nil
		}
		return w
	})
}

// near is the rulebook with whoever may have a passkey asked about notes: alone, where they
// were not among the others.
func (b *rulebook) near() *rulebook {
	return b.with(func(w way) way {
		if w.verdict == ask && w.note {
			w.need = 1
			if !slices.Contains(w.of, "local") {
				w.of = []string{"local"}
			}
		}
		return w
	})
}

// sealing is the rulebook with another rule beside, by which one note takes a passkey.
func (b *rulebook) sealing() *rulebook {
	s := b.with(func(w way) way { return w })
	s.seals = b.ways["note"].verdict == ask
	s.write()
	return s
}

// sealedNote is the note that it is about.
const sealedNote = "note-1"

// sealed is the way with the terms of that rule beside its own.
func (w way) sealed() way {
	if w.verdict != ask {
		return w
	}
	w.of = slices.DeleteFunc(slices.Clone(w.of), func(who string) bool { return who != "local" })
	w.within, w.confirm, w.to, w.remember = min(w.within, time.Minute), true, nil, nil
	return w
}

// confirms: some yes takes a passkey.
func (b *rulebook) confirms() bool {
	return b.seals || slices.ContainsFunc(ruled, func(tool string) bool { return b.ways[tool].confirm })
}

// newUsual is what stands under asks: {default: …}.
func newUsual(d dice) way {
	w := way{verdict: ask, of: pick(d, []string{"local"}, []string{"local"}, []string{"alice", "bob"}, []string{"local", "alice"}, []string{"bob"}), need: 1,
		within: pick(d, 30*time.Second, time.Minute, 2*time.Minute)}
	if len(w.of) > 1 && d.chance(.5) {
		w.need = 2
	}
	return w
}

func newWay(d dice, tool string) way {
	usual := map[string][]verdict{"read": {allow, allow, ask}, "write": {ask, ask, allow}, "pay": {ask}, "wipe": {deny, deny, ask},
		"note": {ask, ask, ask, allow}, "deploy": {ask, ask, deny}, reads: {allow, allow, ask, deny}}[tool]
	w := way{verdict: pick(d, usual...), reads: tool == reads, note: tool == "note"}
	if w.verdict != ask {
		return w
	}
	w.of = pick(d, []string{"alice", "bob"}, []string{"alice"}, []string{"local"}, []string{"local", "alice", "bob"}, []string{"alice", "bob", "carol"},
		[]string{"agent-b", "alice", "bob"})
	w.need, w.within, w.sequential = 1, pick(d, 20*time.Second, 40*time.Second, 90*time.Second, 20*time.Minute), d.chance(.2)
	if len(w.of) > 1 && (tool == "pay" || d.chance(.2)) {
		w.need = 2
	}
	w.edit = tool == "pay" || tool == "deploy" && d.chance(.5)
	if tool == "deploy" || d.chance(.15) {
		w.to = pick(d, []string{"carol"}, []string{"carol", "dave"}, []string{"agent-a", "dave"})
	}
	if tool == "note" {
		w.remember = pick(d, []string{"once", "session"}, []string{"once", "session", "always"}, []string{"once", "session", "always"}, nil)
	}
	return w
}

// write spells the rulebook as the owner would.
func (b *rulebook) write() {
	var s strings.Builder
	pass := ""
	if b.pass != nil {
		pass = ", pass: [" + strings.Join(b.pass, ", ") + "]"
	}
	fmt.Fprintf(&s, "version: 1\ndefault: deny\nserver: {pin: %s%s}\nproposals: {fulfil: %s, broadcast: %t}\nredact: [\"*token*\"]\nasks:\n  default: {of: [%s], need: %d, within: %v}\n", b.pin, pass, b.fulfil, b.open,
		strings.Join(b.usual.of, ", "), b.usual.need, b.usual.within)
	for _, tool := range ruled {
		b.ways[tool].writeAsk(&s, tool)
	}
	if b.seals {
		s.WriteString("  how-sealed: {of: [local], within: 1m, confirm: passkey}\n")
	}
	s.WriteString("rules:\n")
	if b.seals {
		fmt.Fprintf(&s, "  - {name: rule-sealed, ask: [note], args: {n: {is: %s}}, as: how-sealed}\n", sealedNote)
	}
	for _, tool := range ruled {
		b.ways[tool].writeRule(&s, tool)
	}
	b.text = s.String()
	loaded, err := policy.Load("policy.yaml", []byte(b.text))
	if err != nil {
		panic(fmt.Sprintf("the world's own policy: %v\n%s", err, b.text))
	}
	b.loaded = loaded
}

// writeRule leaves a deny of reads to the default, which is what has to deny them.
func (w way) writeRule(s *strings.Builder, tool string) {
	about := fmt.Sprintf("[%s]", tool)
	if tool == reads {
		about = `["*"], methods: [resources/read]`
	}
	switch {
	case w.verdict == allow:
		fmt.Fprintf(s, "  - {name: rule-%s, allow: %s%s}\n", tool, about, w.demand())
	case w.verdict == ask:
		fmt.Fprintf(s, "  - {name: rule-%s, ask: %s, as: how-%s%s}\n", tool, about, tool, w.demand())
	case tool != reads:
		fmt.Fprintf(s, "  - {name: rule-%s, deny: %s}\n", tool, about)
	}
}

func (w way) writeAsk(s *strings.Builder, tool string) {
	if w.verdict != ask {
		return
	}
	fmt.Fprintf(s, "  how-%s:\n    of: [%s]\n    need: %d\n    within: %v\n", tool, strings.Join(w.of, ", "), w.need, w.within)
	if w.sequential {
		s.WriteString("    mode: sequential\n")
	}
	if w.to != nil {
		fmt.Fprintf(s, "    delegate: {to: [%s], depth: 1}\n", strings.Join(w.to, ", "))
	}
	if w.confirm {
		s.WriteString("    confirm: passkey\n")
	}
	if w.edit {
		s.WriteString("    edit: {amount: {arg: /amount, title: Amount, type: integer, min: 1, max: 100}}\n")
	}
	if w.remember != nil {
		fmt.Fprintf(s, "    remember: [%s]\n", strings.Join(w.remember, ", "))
		if slices.Contains(w.remember, "folder") {
			s.WriteString("    folder: /n\n")
		}
	}
}

// mayDecide reports whether somebody may decide about a call of caller's,
// however they came to be asked.
func (w way) mayDecide(who, caller string) bool {
	return who != caller && who != us && (slices.Contains(w.of, who) || slices.Contains(w.to, who))
}

// passing is what an owner lists under server: {pass: […]}.
func passing(d dice) []string {
	return pick(d, nil, nil, []string{"task"}, []string{"_meta.vendor/x"}, []string{"task", "_meta.vendor/x"})
}

// passes: the owner has listed all of what stands beside the arguments.
func (b *rulebook) passes(beside string) bool {
	var members map[string]json.RawMessage
	json.Unmarshal([]byte(beside), &members)
	for name, value := range members {
		var meta map[string]json.RawMessage
		if name != "_meta" {
			meta = map[string]json.RawMessage{"": nil}
		} else if json.Unmarshal(value, &meta) != nil {
			return false
		}
		for key := range meta {
			if full := strings.TrimSuffix(name+"."+key, "."); !slices.Contains(b.pass, full) {
				return false
			}
		}
	}
	return true
}

// surelyLooser: some tool is let through, or asked about, that was not; or takes a passkey no more.
func (b *rulebook) surelyLooser(than *rulebook) bool {
	return slices.ContainsFunc(ruled, func(tool string) bool {
		now, was := b.ways[tool], than.ways[tool]
		return now.verdict > was.verdict || now.verdict == was.verdict && was.confirm && !now.confirm
	})
}

// byPlan is how a policy treats a plan for a tool: whoever is asked about the tool is
// asked about it, and nobody edits or remembers.
func (b *rulebook) byPlan(tool string) way {
	w := b.ways[tool]
	if w.verdict == allow {
		why := w.why
		w = b.usual
		w.why = why
	}
	w.edit, w.remember, w.reads = false, nil, true // it has no argument n itself
	return w
}

// justified draws whether a policy wants to know why calls are made.
func (w way) justified(d dice) way {
	w.why = w.verdict != deny && d.chance(.25)
	return w
}

// demand is that in its rule.
func (w way) demand() string {
	if w.why {
		return ", justification: required"
	}
	return ""
}
