package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

func (p *program) policyExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [FLAGS] --policy FILE TOOL [JSON | - | KEY=VALUE…]",
		Short: "Say what a policy makes of one call, and why",
		Long: `Say what a policy makes of one call, and why: the verdict, the rule that decided
and its line, who would be asked and how, what the caller is told, what the call
would take of limits, and what every rule made of it. Nothing is called.

Arguments are one JSON object, - to read that from stdin, or KEY=VALUE pairs. In
pairs 3, 2.5, true and false are what they look like and everything else is a
string; KEY:=JSON says it exactly. Limits count as unused. What the file hides
is not shown.

Members of params that are neither name nor arguments reach the server as well.
With --beside it is said what they do: they raise an allow to an ask, unless the
file lists them under server: {pass: [task, _meta.account]}.

The exit code is 0 whatever the verdict.`,
		Example: `  mcpx-bridge policy explain --policy policy.yaml read_file path=/srv/docs/plan.md
  mcpx-bridge policy explain --policy policy.yaml --from support-1 create_refund '{"amount":30,"currency":"EUR"}'
  mcpx-bridge policy explain --policy policy.yaml --via proposal --at 2026-03-01T23:00:00+01:00 deploy target=production
  mcpx-bridge policy explain --policy policy.yaml --method resources/read '{"uri":"file:///etc/passwd"}' --json`,
		Args: inUTF8(positional(0, -1), "method"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.explainPolicy(cmd, args) },
	}
	f := cmd.Flags()
	p.s.policyFileFlag(f)
	f.StringVar(&p.s.From, "from", "someone", "the participant `ID` that calls")
	f.StringVar(&p.s.Via, "via", "request", "how the call comes, `WAY`: request or proposal")
	f.StringVar(&p.s.Method, "method", "tools/call", "ask about another `METHOD` than tools/call; then no TOOL is given, but the params")
	f.StringVar(&p.s.At, "at", "", "when the call comes, `TIME` like 2026-03-01T23:00:00+01:00 (default: now)")
	f.StringVar(&p.s.Beside, "beside", "", "what stands beside the arguments in the params, `JSON` like '{\"_meta\":{\"account\":\"x\"}}'")
	f.StringSliceVar(&p.s.Hint, "hint", nil, "what the server says of the tool, `NAME[=false]`: readOnly, destructive, idempotent, openWorld; repeatable")
	return cmd
}

func (p *program) explainPolicy(cmd *cobra.Command, args []string) error {
	if p.s.Policy == "" {
		return misused("usage: "+cmd.UseLine(), "policy explain needs --policy FILE")
	}
	c, err := p.callToExplain(cmd, args)
	if err != nil {
		return err
	}
	now, err := p.onePolicy(p.s.Policy)
	if err != nil {
		return err
	}
	d, shown := now.Decide(c, nil), now.Redact(c.Args)
	d.Limits = now.ForRecord(d.Limits, c.Args)
	if p.s.JSON {
		return p.print(jsonLine(report.Explain(d, shown)))
	}
	return p.print([]byte(visibleLines(report.Words(d, shown))))
}

// callToExplain is the call that the command line describes.
func (p *program) callToExplain(cmd *cobra.Command, args []string) (c policy.Call, err error) {
	c = policy.Call{From: p.s.From, Via: p.s.Via, Method: p.s.Method}
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

func instant(text string) (time.Time, error) {
	if text == "" {
		return time.Now(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, misused("--at 2026-03-01T23:00:00+01:00", "--at: %q is no time", text)
	}
	return at, nil
}

func hintFlags(all []string) (h policy.Hints, err error) {
	hints := map[string]**bool{"readOnly": &h.ReadOnly, "destructive": &h.Destructive, "idempotent": &h.Idempotent, "openWorld": &h.OpenWorld}
	for _, text := range all {
		name, value, _ := strings.Cut(text, "=")
		said := cmp.Or(value, "true") == "true"
		hint := hints[name]
		if hint == nil || !said && value != "false" {
			return h, misused("--hint readOnly, or --hint readOnly=false; there are "+strings.Join(sortedKeys(hints), ", "), "--hint: there is no hint %q", text)
		}
		*hint = &said
	}
	return h, nil
}
