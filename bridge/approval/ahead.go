package approval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A question about a [plan.Plan] is a question as any other: its arguments are the plan, all
// of which the digest covers. What comes of a yes is no call, but a [Grant] that is kept for
// its proposer, once [Desk.Begin] is told that it may count.

// KeepPlan is what Grant.Keep says of what a plan gave leave for.
const KeepPlan = "plan"

// overLimit is why a plan does not count for a call: a limit asks.
const overLimit = "over_limit"

// aPlan is the plan that a question is about, as it stands in these arguments; nil if it is
// about something else.
func (q *Question) aPlan(args []byte) *plan.Plan {
	if q.Method != plan.Method || q.AboutPolicy {
		return nil
	}
	p, _ := plan.Parse(args)
	return p
}

// EditsOf are the fields by which people may narrow a plan: how often each of its items, and
// for how long. Nothing else of it can be changed, and none of them can be more than it says.
func EditsOf(p *plan.Plan) (edits []policy.Edit) {
	for i, item := range p.Items {
		n := strconv.Itoa(i)
		edits = append(edits, policy.Edit{Field: "uses" + strconv.Itoa(i+1), Arg: "/items/" + n + "/uses", Title: "Times of item " + strconv.Itoa(i+1), Type: "integer",
			Min: "0", Max: strconv.Itoa(item.Uses)})
	}
	return append(edits, policy.Edit{Field: "seconds", Arg: "/seconds", Title: "Seconds for which it counts", Type: "integer",
		Min: "1", Max: strconv.Itoa(int(p.For / time.Second))})
}

// planned says what a plan covers, whole. What redact hides of a call's arguments it hides.
func planned(p *plan.Plan, m *text.Marks, redact func([]byte) []byte) (facts []Fact) {
	for i := range p.Items {
		facts = append(facts, Fact{"Item " + strconv.Itoa(i+1), p.Items[i].Words(m, redact)})
	}
	return append(facts, Fact{"Then", "these calls of the same caller, and no others, run unasked for " + text.Span(p.For) + " from the yes"})
}

// covers is which item of what a plan gave leave for covers a question's call, and why it
// does not count all the same, as one of the reasons for which nothing remembered does; -1 if
// none covers it.
func (g *Grant) covers(q *Question) (item int, unused string) {
	if q.Method != toolsCall || len(q.Beside) > 0 || q.Proposer != "" || q.Caller != g.Caller || q.Host || q.Unverified || g.left == nil {
		return -1, ""
	}
	item = g.of.Covers(q.Tool, q.Args, g.left)
	switch {
	case item < 0:
	case g.prints[item] != q.Fingerprint:
		return item, ToolChanged
	case q.Over:
		return item, overLimit
	}
	return item, ""
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
