package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

func (p *program) policyInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [FLAGS] -- CMD [ARG…]",
		Short: "Draft a policy from the tools of a server",
		Long: `Draft a policy from the tools of a server, and print it.

The server is started, asked for its tools, and stopped; no tool is called. The
draft asks about every call, and has a rule each that asks about reading resources,
getting prompts and everything else but lists. Comments beside the tools' names
hold what the server says about them; that is the server's word, so it loosens
nothing. Move a tool to the rule that allows when you have read what it does.`,
		Example: `  mcpx-bridge policy init -- npx -y @modelcontextprotocol/server-filesystem /tmp > policy.yaml
  mcpx-bridge policy check policy.yaml -- npx -y @modelcontextprotocol/server-filesystem /tmp`,
		Args: help.Positional(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.initPolicy(cmd, args) },
	}
	f := cmd.Flags()
	f.String("from", "", "not needed: the draft is always made from the server after --")
	f.Lookup("from").NoOptDefVal = "server" // so that it does not take the -- for its value
	f.Lookup("from").Hidden = true          // it was asked for once, and scripts have it
	p.s.serverFlags(f)
	return cmd
}

func (p *program) initPolicy(cmd *cobra.Command, args []string) error {
	stray, argv := behindDash(cmd, args)
	if len(stray) > 0 && len(argv) > 0 && cmd.Flags().Changed("from") {
		return misused("usage: "+cmd.UseLine(), "policy init: leave out --from and %q", stray[0])
	} else if len(stray) > 0 {
		return misused("usage: "+cmd.UseLine(), "policy init: put -- before %q", stray[0])
	}
	if len(argv) == 0 && p.s.Server == "" {
		return misused("usage: "+cmd.UseLine(), "policy init needs the command of a server")
	}
	argv, err := p.command(argv)
	if err != nil {
		return err
	}
	tools, err := p.serverTools(cmd.Context(), argv, nil)
	if err != nil {
		return err
	}
	about := forReport(tools)
	draft := report.Draft(commandline.ID(argv), about)
	if _, err := policy.Load("the draft", draft); err != nil {
		return fail(exitFailed, "please report this, with the list of the tools", "the tools of this server make no policy: %w", err)
	}
	if p.s.JSON {
		draft = jsonLine(report.DraftJSON(about))
	}
	if err := p.print(draft); err != nil {
		return &failure{Exit: exitFailed}
	}
	p.log.Info("a draft with " + text.Counted(len(tools), "tool") + "; save it, read it, change it, then: mcpx-bridge run --policy FILE")
	return nil
}
