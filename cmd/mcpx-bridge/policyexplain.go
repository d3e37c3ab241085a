package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit/show"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

func (p *program) policyExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [FLAGS] --policy FILE {TOOL [JSON | - | KEY=VALUE…] | --call ID}",
		Short: "Say what a policy makes of one call, and why",
		Long: `Say what a policy makes of one call, and why: the verdict, the rule that decided
and its line, who would be asked and how, what the caller is told, what the call
would take of limits, and what every rule made of it. Nothing is called.

Arguments are one JSON object, - to read that from stdin, or KEY=VALUE pairs. In
pairs 3, 2.5, true and false are numbers and booleans, and everything else is a
string; KEY:=JSON says it exactly. Limits count as unused. Arguments that the file
hides are not shown.

Members of params beside name and arguments reach the server too. Give them with
--beside: they raise an allow to an ask, unless the file lists them under
server: {pass: [task, _meta.account]}.

--call takes a call from the record and judges it by these rules, at the time at
which it came. What the record says about it follows: who was asked, who decided,
and how the call ended.

The exit code is 0 whatever the verdict.`,
		Example: `  mcpx-bridge policy explain --policy policy.yaml read_file path=/srv/docs/plan.md
  mcpx-bridge policy explain --policy policy.yaml --from support-1 create_refund '{"amount":30,"currency":"EUR"}'
  mcpx-bridge policy explain --policy policy.yaml --via proposal --at 2026-03-01T23:00:00+01:00 deploy target=production
  mcpx-bridge policy explain --policy policy.yaml --call 08ca10b8-26
  mcpx-bridge policy explain --policy policy.yaml --method resources/read '{"uri":"file:///etc/passwd"}' --json`,
		Annotations: map[string]string{help.Rarely: "at beside hint why"},

		Args: help.InUTF8(help.Positional(0, -1), "method"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.explainPolicy(cmd, args) },
	}
	f := cmd.Flags()
	p.s.policyFileFlag(f)
	f.StringVar(&p.s.Records.Call, "call", "", "explain this call on record, by the `ID` that audit show has for it")
	f.StringVar(&p.s.Audit, "audit", "", "where the call is on record, a `FILE` or the id of a bridge (default: all records here)")
	f.StringVar(&p.s.From, "from", "someone", "the participant `ID` that calls")
	f.StringVar(&p.s.Via, "via", "request", "how the call comes, `WAY`: request or proposal")
	f.StringVar(&p.s.Method, "method", "tools/call", "ask about another `METHOD` than tools/call; then no TOOL is given, but the params")
	f.StringVar(&p.s.At, "at", "", "when the call comes, `TIME` like 2026-03-01T23:00:00+01:00 (default: now)")
	f.StringVar(&p.s.Beside, "beside", "", "what stands beside the arguments in the params, `JSON` like '{\"_meta\":{\"account\":\"x\"}}'")
	f.StringVar(&p.s.Offer.Why, "why", "", "why the caller wants it, in a `SENTENCE`")
	f.StringSliceVar(&p.s.Hint, "hint", nil, "what the server says of the tool, `NAME[=false]`: readOnly, destructive, idempotent, openWorld; repeatable")
	return cmd
}

func (p *program) explainPolicy(cmd *cobra.Command, args []string) error {
	if p.s.Policy == "" && p.s.Records.Call != "" {
		return misused("mcpx-bridge policy explain --policy FILE --call "+p.s.Records.Call,
			"policy explain --call needs --policy FILE, the rules to judge the call by: the record has no more than their digest")
	} else if p.s.Policy == "" {
		return misused("usage: "+cmd.UseLine(), "policy explain needs --policy FILE")
	}
	now, err := p.onePolicy(p.s.Policy)
	if err != nil {
		return err
	}
	if p.s.Records.Call != "" {
		return p.explainRecorded(cmd, now, args)
	}
	c, err := p.callToExplain(cmd, args)
	if err != nil {
		return err
	}
	return p.explain(now, c, nil)
}

// explain says what a policy makes of a call, and what is on record of it.
func (p *program) explain(now *policy.Policy, c policy.Call, recorded []audit.Record) error {
	d, shown := now.Decide(c, nil), now.Redact(c.Args)
	d.Limits = now.ForRecord(d.Limits, c.Args)
	if p.s.JSON {
		return p.print(jsonLine(report.Explain(now, d, shown, recorded)))
	}
	return p.print([]byte(text.Lines(report.Words(now, d, shown)) + show.OnRecord(recorded)))
}

// explainRecorded explains a call that is on record.
func (p *program) explainRecorded(cmd *cobra.Command, now *policy.Policy, args []string) error {
	if len(args) > 0 {
		return misused("usage: "+cmd.UseLine(), "--call takes the call from the record, so %q is one too many", args[0])
	}
	named := slices.DeleteFunc([]string{p.s.Audit}, func(log string) bool { return log == "" })
	logs, err := p.auditLogs(named)
	if err != nil {
		return err
	}
	found, err := report.FindCall(cmd.Context(), p.s.Records.Call, logs)
	if errors.Is(err, report.ErrNotRecorded) {
		return fail(exitFailed, "mcpx-bridge audit show lists them", "--call: %w", err)
	} else if err != nil {
		return restless(strings.Join(logs, ", "), err)
	}
	c, err := found.Call(p.s.Policy)
	if err != nil {
		return err
	}
	for _, doubt := range found.Doubts(now) {
		p.log.Warn(doubt)
	}
	return p.explain(now, c, found.Records)
}

// callToExplain is the call that the command line describes.
func (p *program) callToExplain(cmd *cobra.Command, args []string) (c policy.Call, err error) {
	c = policy.Call{From: p.s.From, Via: p.s.Via, Method: p.s.Method, Why: p.s.Offer.Why}
	if c.Method == "tools/call" {
		if len(args) == 0 {
			return c, misused("usage: "+cmd.UseLine(), "policy explain needs the name of a tool")
		}
		c.Tool, args = args[0], args[1:]
	}
	if err := checkID("--from", c.From); err != nil {
		return c, err
	}
	if c.Via != "request" && c.Via != "proposal" {
		return c, misused("--via request, or --via proposal", "--via: a call comes as a request or a proposal, not as %q", c.Via)
	}
	if c.Now, err = instant(p.s.At); err != nil {
		return c, err
	}
	if c.Hints, err = hintFlags(p.s.Hint); err != nil {
		return c, err
	}
	given, err := arguments.Read(args, p.stdin)
	if err != nil {
		return c, err
	}
	if c.Args, err = given.Guessed(); err != nil {
		return c, err
	}
	if p.s.Beside != "" {
		if c.Beside, err = arguments.Strict("--beside", []byte(p.s.Beside)); err != nil {
			return c, err
		}
	}
	if c.Method == "prompts/get" {
		c.Tool = report.PromptIn(c.Args)
	}
	return c, nil
}

func instant(said string) (time.Time, error) {
	if said == "" {
		return time.Now(), nil
	}
	at, err := time.Parse(time.RFC3339, said)
	if err != nil {
		return at, misused("--at 2026-03-01T23:00:00+01:00", "--at: %q is no time", said)
	}
	return at, nil
}

func hintFlags(all []string) (h policy.Hints, err error) {
	hints := map[string]**bool{"readOnly": &h.ReadOnly, "destructive": &h.Destructive, "idempotent": &h.Idempotent, "openWorld": &h.OpenWorld}
	for _, word := range all {
		name, value, _ := strings.Cut(word, "=")
		said := cmp.Or(value, "true") == "true"
		hint := hints[name]
		if hint == nil || !said && value != "false" {
			return h, misused("--hint readOnly, or --hint readOnly=false; there are "+strings.Join(sortedKeys(hints), ", "), "--hint: there is no hint %q", word)
		}
		*hint = &said
	}
	return h, nil
}
