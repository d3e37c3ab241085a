package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

func (p *program) policyCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FLAGS] FILE… [-- CMD [ARG…]]",
		Short: "Say what is wrong with a policy file, or doubtful",
		Long: `Say what is wrong with a policy file, or doubtful.

An error comes with its place and, if it can be guessed, with what was meant. The
bridge never uses a file with an error. Warnings are about rules that others always
overrule, asks that only the caller could answer, and tests in the file that fail.

With the command of a server, warnings are also about rules that fit none of its
tools, arguments that none of them has, a deny by an argument that some tools call
something else, arguments that an approver may change and a tool does not have,
and files that a tool might write and that say what may run or what ran. The server
is started without the secrets of the policy's channels, asked for its tools, and
stopped; it is not started if a file has an error. One line each says who can read
its resources and get its prompts: rules are about tools unless they name methods,
and what no rule names follows the default. Only lists pass by themselves.

A name under "of" or "to" that is no group counts as a participant's id. These ids
are listed, with the members of the groups named there, because nobody would ever
answer for a misspelt one. Who stands under "to" alone is listed apart.

Exit codes: 0 with or without warnings, 2 if there is an error.`,
		Example: `  mcpx-bridge policy check policy.yaml
  mcpx-bridge policy check policy.yaml -- npx -y @modelcontextprotocol/server-filesystem /tmp
  mcpx-bridge policy check --json examples/policies/*.yaml`,
		Args: help.Positional(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.checkPolicies(cmd, args) },
	}
	p.s.policyFileFlag(cmd.Flags())
	p.s.serverFlags(cmd.Flags())
	return cmd
}

func (p *program) checkPolicies(cmd *cobra.Command, args []string) error {
	named, argv := behindDash(cmd, args)
	files, err := p.policyFiles(cmd, named)
	if err != nil {
		return err
	}
	bad, loaded, wrong := false, make([]*policy.Policy, len(files)), make([]error, len(files))
	for i, file := range files {
		loaded[i], wrong[i] = loadPolicy(file)
		bad = bad || wrong[i] != nil
	}
	var tools []policy.Tool
	asked := false
	switch named := len(argv) > 0 || p.s.Server != ""; {
	case named && bad: // which secrets a wrong policy has nobody knows, so none could be kept from it
		p.log.Warn("the server is not started: a policy is wrong or cannot be read")
	case named:
		if tools, err = p.toolsToCheck(cmd.Context(), argv, loaded); err != nil {
			return err
		}
		asked = true
	}
	for i, file := range files {
		now := loaded[i]
		l, err := report.LintOf(file, now, wrong[i], tools)
		if err != nil {
			return node.PolicyFault(err)
		}
		if asked {
			n := len(tools)
			l.Tools = &n
		}
		if wrong[i] == nil {
			command := argv
			if asked && len(argv) == 0 {
				command, _ = p.command(nil) // which has been started, so it can be read
			}
			l.Warnings = append(l.Warnings, p.exposed(now, file, command, tools)...)
		}
		p.showLint(l)
	}
	if bad {
		return &failure{Exit: exitMisused}
	}
	return nil
}

func (p *program) toolsToCheck(ctx context.Context, args []string, rules []*policy.Policy) ([]policy.Tool, error) {
	argv, err := p.command(args)
	if err != nil {
		return nil, err
	}
	tools, err := p.serverTools(ctx, argv, rules)
	if err == nil && len(tools) == 0 {
		p.log.Warn("the server has no tools, so the rules cannot be compared with tools")
	}
	return forPolicy(tools), err
}

func (p *program) showLint(l report.Lint) {
	if p.s.JSON {
		p.print(jsonLine(l))
		return
	}
	for _, e := range l.Errors {
		complain(p.stderr, misused(e.Suggestion, "%s", e.Where()))
	}
	if l.OK {
		p.print(l.Words())
	}
}
