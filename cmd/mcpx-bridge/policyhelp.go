package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

func (p *program) policyHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [FLAGS] [KEY]",
		Short: "List the keys of policy files, or show one with an example",
		Long: `List the keys of policy files, or show one with an example.

Without KEY all are listed, by where they stand. Each example is a whole file
that can be saved and tried; docs/policy.md has them all.`,
		Example: "  mcpx-bridge policy help\n  mcpx-bridge policy help need\n  mcpx-bridge policy help --json args",
		Args:    help.Positional(0, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return p.explainKeys(args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return report.KeyNames(report.Keys()), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func (p *program) explainKeys(args []string) error {
	keys, words := report.Keys(), report.KeyList
	if len(args) > 0 {
		named, meant := report.Named(keys, args[0])
		if named == nil {
			return misused(meant, "policy files have no key %q", args[0])
		}
		keys, words = named, report.KeyHelp
	}
	if !p.s.JSON {
		return p.print([]byte(words(keys)))
	}
	for _, k := range keys {
		if err := p.print(jsonLine(k)); err != nil {
			return err
		}
	}
	return nil
}
