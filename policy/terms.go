package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a function here
)

// Terms are how a question is put: who may agree, how many of them must, by
// when, and what they may change.
type Terms struct {
	// Of are the participants who may answer: ids, "local" for the person at
	// this machine, "host" for the person behind the calling desktop client.
	// Groups are resolved and the caller is taken out. In sequential mode they
	// are asked in this order.
	Of   []string
	Need int // how many must agree; at least 1

	Within   time.Duration // the time to decide; over 0, at most 24 h
	Mode     string        // "parallel" or "sequential"
	Priority string        // "low", "normal" or "high"

	Delegate *Delegate // nil: nobody may pass the question on
	Edit     []Edit    // what approvers may change, by name of field
	Remember []string  // which of Memories an answer may choose
	Folder   string    // a JSON pointer like /path: the argument whose folder "folder" is; "" with that alone
	Confirm  string    // what a yes takes besides: "passkey", or "" for nothing

	Rules []string // the rules that ask; none when it is the default
}

// Passkey is the Terms.Confirm with which a yes counts only if a passkey signed it.
const Passkey = "passkey"

// Memories are the words for how far a yes may reach, as Terms.Remember has them: for this call
// alone, or for the same of its caller in this session, and what CoversMore, up to the same always.
func Memories() []string { return slices.Clone(memories) }

// CoversMore reports whether a yes that is remembered so lets other calls run than the same.
func CoversMore(memory string) bool { return memory == "folder" || memory == "tool" }

// Delegate says to whom an approver may pass a question on, and how often.
type Delegate struct {
	To    []string // like Terms.Of
	Depth int      // 1 to 3
}

// An Edit is one argument that an approver may change (seed 003, pattern 2).
type Edit struct {
	Field    string   // the property of the question's schema
	Arg      string   // a JSON pointer into the arguments, or "@timeout": the time the server has for the call, in seconds
	Title    string   // as the owner wrote it; the Field if he wrote none
	Type     string   // "string", "number", "integer" or "boolean"
	Enum     []string // raw JSON values of that type; nil allows any
	Min, Max string   // decimal text; empty means unbounded
	Under    string   // the folder that a string must name, or one in it; "" for none, as files have it
}

// Answerable reports whether enough are left who could agree.
func (t *Terms) Answerable() bool { return t.Need <= t.able() }

// able is how many could agree. Passkeys are those of the person at this machine.
func (t *Terms) able() int {
	switch {
	case t.Confirm == "":
		return len(t.Of)
	case slices.Contains(t.Of, "local"):
		return 1
	}
	return 0
}

// builtin is how it is asked where a file says nothing: the person at this
// machine, within five minutes (DESIGN 14).
var builtin = Terms{Of: []string{"local"}, Need: 1, Within: 5 * time.Minute, Mode: "parallel", Priority: "normal", Remember: []string{"once"}}

var (
	modes      = []string{"parallel", "sequential"}
	priorities = []string{"low", "normal", "high"}
	memories   = []string{"once", "session", "folder", "tool", "always"}

	confirmations = []string{"", Passkey}
)

// mergeTerms takes the strictest of each: who is in all of them, the largest
// need, the shortest time, what all of them let change. It does not depend on
// the order of asks.
func mergeTerms(asks []*Terms) *Terms {
	asks = slices.SortedStableFunc(slices.Values(asks), func(a, b *Terms) int { return slices.Compare(a.Rules, b.Rules) })
	merged := *asks[0]
	for _, t := range asks[1:] {
		merged.Of = both(merged.Of, t.Of)
		merged.Need = max(merged.Need, t.Need)
		merged.Within = min(merged.Within, t.Within)
		merged.Mode = later(modes, merged.Mode, t.Mode)
		merged.Priority = later(priorities, merged.Priority, t.Priority)
		merged.Delegate = merged.Delegate.merge(t.Delegate)
		merged.Edit = mergeEdits(merged.Edit, t.Edit)
		merged.Remember = both(merged.Remember, t.Remember)
		if merged.Folder != t.Folder {
			merged.Folder, merged.Remember = "", beyond(merged.Remember, []string{"folder"})
		}
		merged.Confirm = later(confirmations, merged.Confirm, t.Confirm)
		merged.Rules = slices.Compact(slices.Sorted(slices.Values(append(slices.Clip(merged.Rules), t.Rules...))))
	}
	merged.confirmEach()
	return &merged
}

// confirmEach remembers no yes that takes a passkey: each call takes one of its own. Nor is it
// passed on: only local could give it.
func (t *Terms) confirmEach() {
	if t.Confirm != "" {
		t.Remember, t.Delegate = both(t.Remember, memories[:1]), nil
	}
}

// both is what is in a and in b, in the order of a.
func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

func later(order []string, a, b string) string {
	return order[max(slices.Index(order, a), slices.Index(order, b), 0)]
}

func (d *Delegate) merge(o *Delegate) *Delegate {
	if d == nil || o == nil {
		return nil
	}
	to := both(d.To, o.To)
	if len(to) == 0 {
		return nil
	}
	return &Delegate{To: to, Depth: min(d.Depth, o.Depth)}
}

// mergeEdits keeps the fields that all have and that mean the same, with what
// bounds them all.
func mergeEdits(a, b []Edit) []Edit {
	var merged []Edit
	for _, e := range a {
		i := slices.IndexFunc(b, func(o Edit) bool { return o.Field == e.Field && o.Arg == e.Arg && o.Type == e.Type })
		if i < 0 {
			continue
		}
		o := b[i]
		e.Min, e.Max = stricter(e.Min, o.Min, 1), stricter(e.Max, o.Max, -1)
		switch {
		case e.Enum == nil:
			e.Enum = o.Enum
		case o.Enum != nil:
			e.Enum = both(e.Enum, o.Enum)
		}
		if e.Enum == nil || len(e.Enum) > 0 {
			merged = append(merged, e)
		}
	}
	return merged
}

// stricter is the larger (want 1) or smaller (want -1) of two bounds.
func stricter(a, b string, want int) string {
	x, errA := decimal(a)
	y, errB := decimal(b)
	if errA != nil || errB == nil && y.Cmp(x) == want {
		return b
	}
	return a
}

// without is t without the caller, who never decides about his own call. The
// person at this machine and the one behind the calling client are no callers,
// whatever the caller's name.
func (t *Terms) without(caller string) *Terms {
	if doorRank(caller) < doorRank("") {
		return t
	}
	w := *t
	drop := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return id == caller })
	}
	w.Of = drop(t.Of)
	if t.Delegate != nil {
		w.Delegate = (&Delegate{To: drop(t.Delegate.To), Depth: t.Delegate.Depth}).merge(t.Delegate)
	}
	return &w
}

// looserTerms says what makes it easier to get a yes.
func looserTerms(whose string, before, after *Terms) []string {
	var all []string
	add := func(looser bool, what string) {
		if looser {
			all = append(all, whose+" asks "+what)
		}
	}
	subset := func(a, b []string) bool { return len(beyond(a, b)) == 0 }
	add(!subset(after.Of, before.Of), "more people: "+strings.Join(after.Of, ", "))
	add(after.Need < before.Need, fmt.Sprintf("%d to agree, and asked %d", after.Need, before.Need))
	add(after.Within > before.Within, fmt.Sprintf("for %s, and asked for %s", shown.Span(after.Within.Round(time.Second)), shown.Span(before.Within.Round(time.Second))))
	add(after.Confirm == "" && before.Confirm != "", "without a passkey")
	add(after.Mode != before.Mode && after.Mode == "parallel", "all at once")
	add(!subset(after.Remember, before.Remember), "for a yes that lasts longer: "+strings.Join(after.Remember, ", "))
	add(after.Folder != before.Folder && after.Folder != "", "for a yes to another folder: that of "+after.Folder)
	if to := after.Delegate; to != nil {
		add(before.Delegate == nil || !subset(to.To, before.Delegate.To) || to.Depth > before.Delegate.Depth, "people who may pass it on to more")
	}
	edits := map[string]Edit{}
	for _, e := range before.Edit {
		edits[e.Field] = e
	}
	for _, e := range after.Edit {
		add(!reflect.DeepEqual(edits[e.Field], e), "people who may change "+e.Field)
	}
	return all
}

// doors are the names of those who are no participants, in the order in which they are named.
var doors = []string{"local", "host"}

// IsDoor reports whether a name is that of the person at the bridge, local, or at its client,
// host, and of no participant.
func IsDoor(name string) bool { return slices.Contains(doors, name) }

// abroad are those of the names that are of participants.
func abroad(names []string) []string { return slices.DeleteFunc(slices.Clone(names), IsDoor) }

// doorRank puts those first who are no participants.
func doorRank(name string) int {
	if at := slices.Index(doors, name); at >= 0 {
		return at
	}
	return len(doors)
}

// beyond are the patterns that are not among others.
func beyond(patterns, others []string) (all []string) {
	known := map[string]bool{}
	for _, s := range others {
		known[s] = true
	}
	for _, s := range patterns {
		if !known[s] {
			all = append(all, s)
		}
	}
	return all
}
