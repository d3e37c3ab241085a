package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// MostPast is how many past calls are compared, the newest.
const MostPast = 100_000

// A Past is what an audit log tells of calls that were judged; the zero one knows of none.
type Past struct {
	calls   []policy.Call
	seen    map[string]bool // calls that have been put before somebody; the decision about them says nothing new
	older   int             // left out, because there are too many
	long    int             // left out, because their arguments are not on record
	hidden  int             // with arguments that a policy hid
	garbled int             // lines that cannot be read
}

// Take takes the next record of the log, in the order in which they were written.
func (all *Past) Take(r audit.Record) {
	switch {
	case r.Torn:
		return
	case r.Broken || r.Seq == 0:
		all.garbled++
		return
	case all.seen == nil:
		all.seen = map[string]bool{}
	}
	again := all.seen[r.Call]
	switch {
	case r.Event == "asked" && r.Call != "":
		all.seen[r.Call] = true
	case r.Event == "decided" && again:
		delete(all.seen, r.Call)
		return
	case r.Event != "asked" && r.Event != "decided":
		return
	}
	switch {
	case again || r.Method == "":
	case r.ArgsBytes > 0:
		all.long++
	default:
		all.add(r)
	}
}

func (all *Past) add(r audit.Record) {
	if bytes.Contains(r.Args, []byte(`"[redacted]"`)) {
		all.hidden++
	}
	if r.Method == "prompts/get" {
		r.Tool = PromptIn(r.Args) // records name tools alone
	}
	all.calls = append(all.calls, policy.Call{From: r.From, Via: r.Via, Method: r.Method, Tool: r.Tool, Args: r.Args, Beside: r.Beside, Why: r.Why, Now: r.At})
	if len(all.calls) == 2*MostPast {
		all.forget()
	}
}

// forget leaves the newest calls.
func (all *Past) forget() {
	older := max(0, len(all.calls)-MostPast)
	all.calls = slices.Clone(all.calls[older:])
	all.older += older
}

// Calls are the newest of the calls, oldest first.
func (all *Past) Calls() []policy.Call {
	all.forget()
	return all.calls
}

// Doubts are what makes less than certain what policies say of the calls, where nobody has asked
// the server what it says of its tools.
func (all *Past) Doubts(by ...*policy.Policy) (said []string) {
	for _, d := range []struct {
		n    int
		what string
	}{
		{all.older, "left out: there are too many"},
		{all.long, "left out: their arguments are not on record"},
		{all.hidden, "judged by what is on record of their arguments, of which some was hidden"},
	} {
		if d.n > 0 {
			said = append(said, fmt.Sprintf("%s %s", text.Counted(d.n, "past call"), d.what))
		}
	}
	if all.garbled > 0 {
		said = append(said, text.Counted(all.garbled, "line")+" of the log cannot be read: mcpx-bridge audit verify says more")
	}
	if slices.ContainsFunc(by, func(p *policy.Policy) bool { return p.Server.TrustHints }) {
		said = append(said, "the hints of tools are not on record: every tool counts as one that says nothing of itself")
	}
	return said
}

// ReadPast is what an audit log has of calls. Its errors are those of [audit.Records].
func ReadPast(ctx context.Context, log string) (*Past, error) {
	all := &Past{}
	for r, err := range audit.Records(ctx, log, time.Time{}) {
		if err != nil {
			return nil, err
		}
		all.Take(r)
	}
	return all, nil
}

// Compared is in words what [policy.Diff] finds of the calls, those first that open most.
func (all *Past) Compared(changes []policy.Change) string {
	if len(all.calls) == 0 {
		return "no past calls\n"
	}
	out := fmt.Appendf(nil, "%d of %s, %s to %s UTC, would come out differently\n", len(changes), text.Counted(len(all.calls), "past call"),
		all.calls[0].Now.UTC().Format(time.DateTime), all.calls[len(all.calls)-1].Now.UTC().Format(time.DateTime))
	for _, g := range grouped(changes) {
		out = append(append(out, '\n'), g.words()...)
	}
	return string(out)
}

// A group is changes that differ in arguments and time alone.
type group struct {
	policy.Change // the last of them
	count         int
}

// grouped are the changes, those first that open most.
func grouped(changes []policy.Change) []*group {
	groups := map[string]*group{}
	var all []*group
	for _, c := range changes {
		c.Call.From = anyMadeUp(c.Call.From)
		key := fmt.Sprintf("%q", []string{c.Call.From, c.Call.Via, c.Call.Method, c.Call.Tool, c.Before.String(), c.After.String()})
		g := groups[key]
		if g == nil {
			g = &group{}
			groups[key] = g
			all = append(all, g)
		}
		g.Change = c
		g.count++
	}
	opens := func(g *group) int { return int(g.After.Verdict) - int(g.Before.Verdict) }
	slices.SortStableFunc(all, func(a, b *group) int {
		return cmp.Or(opens(b)-opens(a), b.count-a.count, cmp.Compare(a.Call.Tool, b.Call.Tool), cmp.Compare(a.Call.From, b.Call.From))
	})
	return all
}

var madeUp = regexp.MustCompile("^" + text.MadeUp + "[0-9a-f]{8}$")

// anyMadeUp stands for all ids that commands of ours make up for one call.
func anyMadeUp(id string) string {
	if madeUp.MatchString(id) {
		return text.MadeUp + "*"
	}
	return id
}

func (g *group) words() string {
	way := "stricter"
	if g.After.Verdict > g.Before.Verdict {
		way = "LOOSER"
	}
	out := fmt.Sprintf("%s, %s: %s\n  before  %s\n  after   %s\n", way, text.Counted(g.count, "call"), g.Call.Words(), g.Before, g.After)
	last := "  last    " + g.Call.Now.UTC().Format(time.DateTime)
	if len(g.Call.Args) > 0 && string(g.Call.Args) != "{}" {
		last += "  " + text.Cut(string(rawjson.OneLine(g.Call.Args)), 100)
	}
	return out + last + "\n"
}

// A Change is one change as JSON.
type Change struct {
	At     time.Time       `json:"at"`
	From   string          `json:"from"`
	Via    string          `json:"via,omitempty"`
	Method string          `json:"method"`
	Tool   string          `json:"tool,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Before Judgement       `json:"before"`
	After  Judgement       `json:"after"`
}

// A Judgement is the verdict of one of the two, and the rule and line that decided.
type Judgement struct {
	Verdict string `json:"verdict"`
	Rule    string `json:"rule,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// ChangeOf is a change as JSON.
func ChangeOf(c policy.Change) Change {
	of := func(d policy.Decision) Judgement { return Judgement{d.Verdict.String(), d.Rule, d.Line} }
	return Change{c.Call.Now, c.Call.From, c.Call.Via, c.Call.Method, c.Call.Tool, c.Call.Args, of(c.Before), of(c.After)}
}

// PromptIn is the prompt that a call of prompts/get is about, by its params.
func PromptIn(params []byte) string {
	name, _ := rawjson.Text(params, jsonrpc.Called, "name")
	return name
}
