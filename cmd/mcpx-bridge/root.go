package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/asyncwriter"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/config"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// root is the command tree. Nothing of it outlives one invocation.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpx-bridge",
		Short: "Let the people and agents in a room use an MCP server, under your rules",
		Long: `Let the people and agents in a room use an MCP server, under your rules.

"run" seats an MCP server in a topic: a room, by default on this machine.`,
		Example: `  mcpx-bridge run -- npx -y @modelcontextprotocol/server-filesystem /tmp
  mcpx-bridge tools
  mcpx-bridge call filesystem read_text_file path=/tmp/notes.txt`,
		Args: help.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("version") {
				return p.printVersion()
			}
			return cmd.Help()
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return p.prepare(cmd) },
	}
	p.s.commonFlags(root.PersistentFlags())
	root.Flags().BoolP("version", "v", false, "say which version this is")
	all := help.Flags(root.PersistentFlags())
	root.SetFlagErrorFunc(help.FlagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = p.print([]byte(help.Text(cmd, *all))) }) // run knows if it fails
	root.CompletionOptions.DisableDefaultCmd = true                                                      // we have our own
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		p.runCommand(),
		p.attachCommand(),
		p.serveCommand(),
		p.gatewayCommand(),
		p.tokenCommand(),
		p.whoCommand(),
		p.toolsCommand(),
		p.callCommand(),
		p.proposeCommand(),
		p.withdrawCommand(),
		p.watchCommand(),
		p.approveCommand(),
		p.approvalsCommand(),
		p.inboxCommand(),
		p.grantsCommand(),
		p.policyCommand(),
		p.auditCommand(),
		p.haltCommand(),
		p.resumeCommand(),
		p.clientCommand(),
		p.doctorCommand(),
		p.completionCommand(),
		p.versionCommand(),
	)
	for c := range help.Below(root) {
		c.DisableFlagsInUseLine = true // they are in Use, where they belong
		switch {
		case c.RunE == nil: // it has commands, and does nothing itself
			c.Args, c.RunE = help.NoSuchCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case c.Args == nil:
			c.Args = help.Positional(0, 0)
		}
	}
	completeFlags(root)
	p.completeNames(root)
	return root
}

// prepare runs before every command: settings first, then the log.
func (p *program) prepare(cmd *cobra.Command) error {
	p.log = slog.New(slog.DiscardHandler)
	switch cmd.Name() {
	case "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return nil // a broken setting must not keep anybody from reading on
	}
	known := help.Settings(cmd.Root())
	var err error
	if p.given, err = config.Settle(cmd.Flags(), known, p.variables(cmd)); err != nil {
		return err
	}
	p.lookedOn, p.readByOthers = terminal(p.stderr) != nil, private.ReadByOthers(p.stdout) || private.ReadByOthers(p.stderr)
	bridges := cmd.Name() == "run" || cmd.Name() == "attach"
	taken := bridges && (p.s.Stdio || attachedToUs(cmd))
	switch {
	case bridges && !p.s.JSON && !taken:
		p.attend(true)
	case cmd.Name() == "approve":
		p.attend(false)
	case cmd.Name() == "call", cmd.Name() == "propose":
		p.countDown()
	}
	if bridges || cmd.Name() == "gateway" || cmd.Name() == "serve" {
		p.errors = asyncwriter.New(p.stderr, logLinesLost) // they must not wait for who reads the log
		p.stderr = p.errors
	}
	if taken {
		p.stdout = p.stderr
	}
	if p.log, err = newLog(p.stderr, p.s.LogLevel, p.s.LogFormat); err != nil {
		return err
	}
	for key, meant := range config.Strays(p.environ(), known) {
		p.log.Warn("the environment has "+text.Line(key)+", which is no setting of mcpx-bridge", "meant", meant)
	}
	return nil
}
