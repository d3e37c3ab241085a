package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func (p *program) policyDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff [FLAGS] OLD NEW [--audit FILE]",
		Short: "Show which past calls another policy would have judged otherwise",
		Long: `Show which past calls another policy would have judged otherwise.

Every call in an audit log is judged by both files. Those whose verdict differs
are listed, the loosened ones first, together where caller, tool and rules are
the same. Limits are counted along the way.

An audit log does not know everything: what OLD or an earlier policy hid of the
arguments is judged as it stands there, calls with long arguments are left out,
and what a server says of its tools (hints) is not in it. How many calls that
concerns is said. At most the newest 100000 calls are looked at.

The exit code is 0 whether or not there are differences.`,
		Example: `  mcpx-bridge policy diff policy.yaml new.yaml --audit filesystem
  mcpx-bridge policy diff policy.yaml new.yaml --json | jq 'select(.after.verdict == "allow")'`,
		Args: positional(2, 2),
		RunE: func(_ *cobra.Command, args []string) error { return p.diffPolicies(args[0], args[1]) },
	}
	cmd.Flags().StringVar(&p.s.Audit, "audit", "", "take past calls from this audit log, a `FILE` or the id of a bridge (default: the only one here)")
	return cmd
}

func (p *program) diffPolicies(old, new string) error {
	before, err := p.onePolicy(old)
	if err != nil {
		return err
	}
	after, err := p.onePolicy(new)
	if err != nil {
		return err
	}
	log, err := p.pastLog()
	if err != nil {
		return err
	}
	past, err := pastOf(log)
	if err != nil {
		return err
	}
	changes := policy.Diff(before, after, past.calls)
	if p.s.JSON {
		for _, c := range changes {
			p.print(jsonLine(newChange(c)))
		}
	} else {
		p.print([]byte(visibleLines(past.compared(changes))))
	}
	for _, doubt := range past.doubts(before, after) {
		p.log.Warn(doubt)
	}
	return nil
}

// pastLog finds the audit log: the one named, else the only one there is.
func (p *program) pastLog() (string, error) {
	switch p.s.Audit {
	case "off":
		return "", misused("--audit FILE", "without an audit log there are no past calls")
	case "":
		return p.auditLog(nil)
	}
	return p.auditLog([]string{p.s.Audit})
}

// mostPast is how many past calls are compared, the newest.
const mostPast = 100_000

// A past is what an audit log tells of calls that were judged.
type past struct {
	calls   []policy.Call
	seen    map[string]bool // calls that have been put before somebody; the decision about them says nothing new
	older   int             // left out, because there are too many
	long    int             // left out, because their arguments are not on record
	hidden  int             // with arguments that a policy hid
	garbled int             // lines that cannot be read
}

// pastOf reads an audit log.
func pastOf(path string) (*past, error) {
	all := &past{seen: map[string]bool{}}
	for r, err := range audit.Records(path, time.Time{}) {
		if err != nil {
			return nil, restless(path, err)
		}
		if !r.Torn {
			all.take(r)
		}
	}
	all.forget()
	return all, nil
}

func (all *past) take(r audit.Record) {
	if r.Broken || r.Seq == 0 {
		all.garbled++
		return
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

func (all *past) add(r audit.Record) {
	if bytes.Contains(r.Args, []byte(`"[redacted]"`)) {
		all.hidden++
	}
	if r.Method == "prompts/get" {
		r.Tool = nameIn(r.Args) // records name tools alone
	}
	all.calls = append(all.calls, policy.Call{From: r.From, Via: r.Via, Method: r.Method, Tool: r.Tool, Args: r.Args, Beside: r.Beside, Now: r.At})
	if len(all.calls) == 2*mostPast {
		all.forget()
	}
}

// forget leaves the newest calls.
func (all *past) forget() {
	older := max(0, len(all.calls)-mostPast)
	all.calls = slices.Clone(all.calls[older:])
	all.older += older
}

// doubts are what makes a comparison less than certain.
func (all *past) doubts(before, after *policy.Policy) (said []string) {
	for _, d := range []struct {
		n    int
		what string
	}{
		{all.older, "left out: there are too many"},
		{all.long, "left out: their arguments are too long to be on record"},
		{all.hidden, "judged by what is on record of their arguments, of which some was hidden"},
	} {
		if d.n > 0 {
			said = append(said, fmt.Sprintf("%s %s", counted(d.n, "past call"), d.what))
		}
	}
	if all.garbled > 0 {
		said = append(said, counted(all.garbled, "line")+" of the log cannot be read: mcpx-bridge audit verify says more")
	}
	if before.Server.TrustHints || after.Server.TrustHints {
		said = append(said, "the hints of tools are not on record: every tool counts as one that says nothing of itself")
	}
	return said
}

// compared is the comparison in words.
func (all *past) compared(changes []policy.Change) string {
	if len(all.calls) == 0 {
		return "no past calls\n"
	}
	const day = "2006-01-02 15:04"
	text := fmt.Appendf(nil, "%d of %s, %s to %s UTC, would come out differently\n", len(changes), counted(len(all.calls), "past call"),
		all.calls[0].Now.UTC().Format(day), all.calls[len(all.calls)-1].Now.UTC().Format(day))
	for _, g := range grouped(changes) {
		text = append(append(text, '\n'), g.words()...)
	}
	return string(text)
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

var madeUp = regexp.MustCompile(`^cli-[0-9a-f]{8}$`)

// anyMadeUp stands for all ids that commands of ours make up for one call.
func anyMadeUp(id string) string {
	if madeUp.MatchString(id) {
		return "cli-*"
	}
	return id
}

func (g *group) words() string {
	way := "stricter"
	if g.After.Verdict > g.Before.Verdict {
		way = "LOOSER"
	}
	what := cmp.Or(g.Call.Tool, g.Call.Method) + " from " + g.Call.From
	if g.Call.Method != "tools/call" {
		what = strings.TrimSuffix(g.Call.Method+" "+g.Call.Tool, " ") + " from " + g.Call.From
	}
	if g.Call.Via == "proposal" {
		what += ", as a proposal"
	}
	text := fmt.Sprintf("%s, %s: %s\n  before  %s\n  after   %s\n", way, counted(g.count, "call"), what, g.Before, g.After)
	last := "  last    " + g.Call.Now.UTC().Format(time.DateTime)
	if len(g.Call.Args) > 0 && string(g.Call.Args) != "{}" {
		last += "  " + shortened(string(oneLine(g.Call.Args)), 100)
	}
	return text + last + "\n"
}

// shortened cuts a text to so many characters.
func shortened(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// A changeLine is one change with --json.
type changeLine struct {
	At     time.Time       `json:"at"`
	From   string          `json:"from"`
	Via    string          `json:"via,omitempty"`
	Method string          `json:"method"`
	Tool   string          `json:"tool,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Before judgement       `json:"before"`
	After  judgement       `json:"after"`
}

type judgement struct {
	Verdict string `json:"verdict"`
	Rule    string `json:"rule,omitempty"`
	Line    int    `json:"line,omitempty"`
}

func newChange(c policy.Change) changeLine {
	of := func(d policy.Decision) judgement { return judgement{d.Verdict.String(), d.Rule, d.Line} }
	return changeLine{c.Call.Now, c.Call.From, c.Call.Via, c.Call.Method, c.Call.Tool, c.Call.Args, of(c.Before), of(c.After)}
}
