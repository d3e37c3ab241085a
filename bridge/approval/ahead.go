package approval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A question about a [plan.Plan] is a question as any other: its arguments are the plan, all
// of which the digest covers. What comes of a yes is no call, but a [Grant] that is kept for
// its proposer, once [Desk.Begin] is told that it may count.

// KeepPlan is what Grant.Keep says of what a plan gave leave for.
const KeepPlan = "plan"

// Why what was agreed to ahead does not count for a call.
const (
	overLimit  = "over_limit"  // a limit asks
	leadsOut   = "leads_out"   // a link leads its path out of the folder, or nobody can tell
	notOffered = "not_offered" // the terms do not offer to remember it that long
)

// Around is what a yes to a question would cover that is remembered by a word that
// [policy.CoversMore]; nil where that cannot be offered, or for another word.
func (q *Question) Around(word string) *plan.Plan {
	if !policy.CoversMore(word) || q.Method != toolsCall || len(q.Beside) > 0 || q.Proposer != "" || q.Host || q.Unverified {
		return nil
	}
	if word == "folder" {
		return plan.Around(q.Tool, q.Args, jsontext.Pointer(q.Terms.Folder))
	}
	return plan.Around(q.Tool, q.Args, "")
}

// Ahead reports whether a grant is for more than one call with exactly its arguments.
func (g *Grant) Ahead() bool { return g.of != nil }

// aPlan is the plan that a question is about, as it stands in these arguments; nil if it is
// about something else.
func (q *Question) aPlan(args []byte) *plan.Plan {
	if q.Method != plan.Method || q.AboutPolicy {
		return nil
	}
	p, _ := plan.Parse(args)
	return p
}

// maxFolders bounds the folders of a plan that can be narrowed.
const maxFolders = 16

// EditsOf are the fields by which people may narrow a plan: how often each of its items, in
// which folder, and for how long. Nothing else of it can be changed, and none of them can be
// more than it says.
func EditsOf(p *plan.Plan) (edits []policy.Edit) {
	folders := 0
	for i, item := range p.Items {
		n, at := strconv.Itoa(i+1), jsontext.Pointer("/items").AppendToken(strconv.Itoa(i))
		edits = append(edits, policy.Edit{Field: "uses" + n, Arg: string(at + "/uses"), Title: "Times of item " + n, Type: "integer", Min: "0", Max: strconv.Itoa(item.Uses)})
		for _, a := range item.Args {
			if a.Under == "" || folders == maxFolders {
				continue
			}
			folders++
			edits = append(edits, policy.Edit{Field: "folder" + strconv.Itoa(folders), Arg: string((at + "/args").AppendToken(string(a.At)) + "/under"), Title: "Folder of item " + n + ", or one in it",
				Type: "string", Under: a.Under})
		}
	}
	return append(edits, policy.Edit{Field: "seconds", Arg: "/seconds", Title: "Seconds for which it counts", Type: "integer",
		Min: "1", Max: strconv.Itoa(int(p.For / time.Second))})
}

// planned says what a plan covers, whole. What redact hides of a call's arguments it hides.
func planned(p *plan.Plan, m *text.Marks, redact func([]byte) []byte) (facts []Fact) {
	for i := range p.Items {
		facts = append(facts, Fact{"Item " + strconv.Itoa(i+1), p.Items[i].Words(m, redact)})
	}
	return append(facts, Fact{"Then", "these calls of the same caller, and no others, run unasked for " + text.Span(p.For) + " from the yes, and not after a restart"})
}

// covers is which item of what a plan gave leave for covers a question's call, and why it
// does not count all the same, as one of the reasons for which nothing remembered does; -1 if
// none covers it.
func (g *Grant) covers(q *Question) (item int, unused string) {
	if !g.isFor(q) {
		return -1, ""
	}
	item = g.of.Covers(q.Tool, q.Args, g.uses(), func(at plan.Place) bool { return slices.Contains(q.Inside, at) })
	if item < 0 {
		return g.of.Covers(q.Tool, q.Args, g.uses(), nil), leadsOut
	}
	switch {
	case g.prints[item] != q.Fingerprint:
		return item, ToolChanged
	case q.Over:
		return item, overLimit
	case g.Keep != KeepPlan && (g.Via != q.Via || !slices.Contains(q.Terms.Remember, g.Keep)):
		return item, notOffered
	}
	return item, ""
}

// isFor reports whether anything of a grant may cover a question's call.
func (g *Grant) isFor(q *Question) bool {
	if q.Method != toolsCall || len(q.Beside) > 0 || q.Proposer != "" || q.Caller != g.Caller || q.Host || q.Unverified || g.of == nil {
		return false
	}
	return true
}

// uses are how often each item still covers a call.
func (g *Grant) uses() []int {
	if g.left == nil { // it is for as often as it likes
		return g.of.Uses()
	}
	return g.left
}

// Places are those on which what was agreed to ahead rests for a call that is to be asked
// about: whoever opens the question has them looked up before, for Question.Inside.
func (d *Desk) Places(q *Question) (all []plan.Place) {
	for _, g := range d.grants {
		if g.isFor(q) {
			all = append(all, g.of.Places(q.Tool, q.Args, g.uses())...)
		}
	}
	slices.SortFunc(all, func(a, b plan.Place) int {
		return cmp.Or(strings.Compare(a.Folder, b.Folder), strings.Compare(a.Path, b.Path))
	})
	return slices.Compact(all)
}

// Covers is, of a yes for a folder or a tool, what the arguments of a call may be, less what
// redact hides; nil for another.
func (g *Grant) Covers(redact func([]byte) []byte) []byte {
	if g.of == nil || g.Keep == KeepPlan {
		return nil
	}
	return g.of.Items[0].JSON(redact)
}

// use counts a use of an item, and returns the grant as it is then. It is done with when all
// are used.
func (g *Grant) use(item int) *Grant {
	g.left[item]--
	now := g.copied()
	now.Item, now.Use = item+1, g.of.Items[item].Uses-g.left[item]
	return &now
}

// done reports whether no use is left.
func (g *Grant) done() bool {
	return g.left != nil && !slices.ContainsFunc(g.left, func(n int) bool { return n > 0 })
}

// copied is a copy that nobody else changes.
func (g *Grant) copied() Grant {
	own := *g
	if g.left != nil {
		own.left, own.Used = nil, make([]int, len(g.left))
		for i, left := range g.left {
			own.Used[i] = g.Uses[i] - left
		}
	}
	return own
}

// What is what a Grant is for: a tool, or those of a plan with how often each was used, of how often.
func (g *Grant) What() string {
	items := strings.Split(g.Tool, ", ")
	if g.Keep != KeepPlan || len(g.Used) != len(items) || len(g.Uses) != len(items) {
		return g.Tool
	}
	for i := range items {
		items[i] = fmt.Sprintf("%s %d/%d", items[i], g.Used[i], g.Uses[i])
	}
	return strings.Join(items, ", ")
}
