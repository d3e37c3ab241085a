package main

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// shells are those a completion script can be written for.
var shells = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       help.BashCompletion,
	"zsh":        (*cobra.Command).GenZshCompletionNoDesc,
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, false) },
	"powershell": (*cobra.Command).GenPowerShellCompletion,
}

func (p *program) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print what lets a shell complete commands and flags",
		Long: `Print the script with which a shell completes the commands and flags of
mcpx-bridge. SHELL is bash, zsh, fish or powershell.

It completes names too: participants and their tools at this machine's own gateway,
bridges, questions, records, and the servers of a client. It looks them up within a
second, and starts nothing. A name that others chose is offered only if the shell
takes it for one word. Old versions of bash, 3.2 on macOS, complete less.`,
		Example: `  source <(mcpx-bridge completion bash)
  mcpx-bridge completion zsh > "${fpath[1]}/_mcpx-bridge"
  mcpx-bridge completion fish > ~/.config/fish/completions/mcpx-bridge.fish
  mcpx-bridge completion powershell | Out-String | Invoke-Expression`,
		Args:      help.Positional(1, 1),
		ValidArgs: sortedKeys(shells),
		RunE: func(cmd *cobra.Command, args []string) error {
			write := shells[args[0]]
			if write == nil {
				return misused("it is bash, zsh, fish or powershell", "completion: there is no script for %q", args[0])
			}
			var script bytes.Buffer
			if err := write(cmd.Root(), &script); err != nil {
				return err
			}
			return p.print(script.Bytes())
		},
	}
}

// helpCommand is --help for those who write it as a command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if err := help.NoSuchCommand(of, rest); err != nil {
				return err
			}
			return of.Help()
		},
	}
}

// completeFlags lets shells complete the values of flags that have few.
func completeFlags(root *cobra.Command) {
	few := map[string][]string{
		"answers":        {"any", "terminal"},
		"audit-sync":     {"decisions", "always", "never"},
		"debug":          {"wire", "stdio"},
		"dialect":        append(wire.Protocols(), "auto"),
		"format":         sortedKeys(formats),
		"log-format":     {"text", "json"},
		"log-level":      {"debug", "info", "warn", "error"},
		"proposal-style": {"auto", "v2", "seed000", "seed001", "chat", "off"},
		"remember":       policy.Memories(),
		"role":           token.Roles(),
		"scope":          {"project", "user", "local"},
		"style":          {"auto", "v2", "seed000", "seed001", "seed002"},
		"via":            {"request", "proposal"},
	}
	complete := func(c *cobra.Command, of *pflag.FlagSet) {
		of.VisitAll(func(f *pflag.Flag) {
			if values := few[f.Name]; values != nil {
				c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			}
		})
	}
	complete(root, root.PersistentFlags())
	for c := range help.Below(root) {
		complete(c, c.Flags())
	}
}
