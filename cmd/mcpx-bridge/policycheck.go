package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func (p *program) policyCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FLAGS] FILE… [-- CMD [ARG…]]",
		Short: "Say what is wrong with a policy file, or doubtful",
		Long: `Say what is wrong with a policy file, or doubtful.

Errors have their place and, where it can be told, what was probably meant; a
file with an error is never used. Warnings are about what is allowed but hardly
meant: rules that others always overrule, asks that nobody but the caller could
answer, tests of its own that fail. With the command of a server, also rules
that fit none of its tools, arguments that none of them has, and a deny by an
argument that some of the tools it names call something else; and files that a
tool might write, and that say what may run or what ran. The server is started,
asked for its tools, and stopped.

Who can read the server's resources and get its prompts is said in a line each:
rules are about tools unless they name methods, and what no rule names follows
the default. Only lists pass by themselves.

A name under "of" or "to" that is no group is taken for a participant's id. They
are listed, with the members of the groups named there, because a misspelt one
would be waited for in vain.

Exit codes: 0 with or without warnings, 2 if there is an error.`,
		Example: `  mcpx-bridge policy check policy.yaml
  mcpx-bridge policy check policy.yaml -- npx -y @modelcontextprotocol/server-filesystem /tmp
  mcpx-bridge policy check --json examples/policies/*.yaml`,
		Args: positional(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.checkPolicies(cmd, args) },
	}
	p.s.policyFileFlag(cmd.Flags())
	p.s.serverFlags(cmd.Flags())
	return cmd
}

// A lint is what check says of one file.
type lint struct {
	File         string    `json:"file"`
	OK           bool      `json:"ok"`
	Default      string    `json:"default,omitempty"`
	Rules        int       `json:"rules"`
	Tests        int       `json:"tests"`
	Failing      int       `json:"failing"`
	Tools        *int      `json:"tools,omitempty"`     // of the server, if one was asked
	Resources    string    `json:"resources,omitempty"` // who can read them, in words
	Prompts      string    `json:"prompts,omitempty"`   // who can get them
	Participants []string  `json:"participants,omitempty"`
	Warnings     []string  `json:"warnings,omitempty"`
	Errors       []problem `json:"errors,omitempty"`
}

func (p *program) checkPolicies(cmd *cobra.Command, args []string) error {
	named, argv := behindDash(cmd, args)
	files, err := p.policyFiles(cmd, named)
	if err != nil {
		return err
	}
	var tools []policy.Tool
	asked := len(argv) > 0 || p.s.Server != ""
	if asked {
		if tools, err = p.toolsToCheck(cmd.Context(), argv); err != nil {
			return err
		}
	}
	bad := false
	for _, file := range files {
		l, err := p.lint(file, tools)
		if err != nil {
			return err
		}
		if asked {
			n := len(tools)
			l.Tools = &n
		}
		if now, err := loadPolicy(file); err == nil {
			command := argv
			if asked && len(argv) == 0 {
				command, _ = p.command(nil) // which has been started, so it can be read
			}
			l.Warnings = append(l.Warnings, p.exposed(now, file, command, p.s.Cwd, tools)...)
		}
		p.showLint(l)
		bad = bad || !l.OK
	}
	if bad {
		return &failure{Exit: exitMisused}
	}
	return nil
}

func (p *program) toolsToCheck(ctx context.Context, args []string) ([]policy.Tool, error) {
	argv, err := p.command(args)
	if err != nil {
		return nil, err
	}
	tools, err := p.serverTools(ctx, argv)
	if err == nil && len(tools) == 0 {
		p.log.Warn("the server has no tools, so the rules cannot be held against them")
	}
	return forPolicy(tools), err
}

// forPolicy is what rules are held against.
func forPolicy(tools []tool) (all []policy.Tool) {
	for _, t := range tools {
		all = append(all, policy.Tool{Name: t.Name, InputSchema: t.InputSchema, Hints: hintsIn(t)})
	}
	return all
}

// hintsIn are what the server says of the tool in its annotations. A hint that
// is no boolean says nothing.
func hintsIn(t tool) policy.Hints {
	var d struct{ Annotations json.RawMessage }
	var said map[string]any
	if json.Unmarshal(t.Raw, &d) == nil && len(d.Annotations) > 0 {
		json.Unmarshal(d.Annotations, &said) // what cannot be read says nothing
	}
	hint := func(name string) *bool {
		if v, ok := said[name].(bool); ok {
			return &v
		}
		return nil
	}
	return policy.Hints{ReadOnly: hint("readOnlyHint"), Destructive: hint("destructiveHint"),
		Idempotent: hint("idempotentHint"), OpenWorld: hint("openWorldHint")}
}

// lint looks at one file. An error is a file that could not be read.
func (p *program) lint(file string, tools []policy.Tool) (lint, error) {
	l := lint{File: file}
	now, err := loadPolicy(file)
	if l.Errors = problemsOf(err); l.Errors != nil {
		return l, nil
	}
	if err != nil {
		return l, policyError(err)
	}
	l.OK, l.Default = true, now.Default.String()
	l.Rules = now.Rules()
	for _, r := range now.Test() {
		l.Tests++
		if !r.Passed {
			l.Failing++
		}
	}
	l.Resources, l.Prompts = now.Reach("resources/read"), now.Reach("prompts/get")
	l.Participants = now.Participants()
	l.Warnings = now.Warnings(tools)
	if l.Failing > 0 {
		l.Warnings = append(l.Warnings, fmt.Sprintf("%d of the file's own tests fail: mcpx-bridge policy test %s", l.Failing, file))
	}
	return l, nil
}

func (p *program) showLint(l lint) {
	if p.s.JSON {
		p.print(jsonLine(l))
		return
	}
	for _, e := range l.Errors {
		complain(p.stderr, misused(e.Suggestion, "%s", e.where()))
	}
	if !l.OK {
		return
	}
	text := fmt.Appendf(nil, "%s: good, %s, default %s, %s\n", l.File, counted(l.Rules, "rule"), l.Default, counted(l.Tests, "test"))
	text = fmt.Appendf(text, "resources: %s\nprompts: %s\n", visible(l.Resources), visible(l.Prompts))
	if len(l.Participants) > 0 {
		text = fmt.Appendf(text, "asks these participants: %s\n", strings.Join(l.Participants, ", "))
	}
	for _, w := range l.Warnings {
		text = fmt.Appendf(text, "warning: %s\n", visible(w))
	}
	p.print(text)
}

// counted is a number of things: no rules, 1 rule, 2 rules.
func counted(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
