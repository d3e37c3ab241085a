package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func (p *program) policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check, explain, test, compare and draft policy files",
		Long: `Check, explain, test, compare and draft policy files.

A policy is a YAML file that says which calls run at once (allow), which are
refused (deny), and which wait until somebody agrees (ask). Every rule that
matches takes part: deny beats ask, ask beats allow, whatever the order.
"policy help" lists the keys that it may have.`,
		Example: `  mcpx-bridge policy init -- npx -y @modelcontextprotocol/server-filesystem /tmp > policy.yaml
  mcpx-bridge policy help need
  mcpx-bridge policy check policy.yaml
  mcpx-bridge policy explain --policy policy.yaml --from ann read_file path=/tmp/notes.txt
  mcpx-bridge run --policy policy.yaml -- npx -y @modelcontextprotocol/server-filesystem /tmp`,
	}
	cmd.AddCommand(p.policyCheckCommand(), p.policyDiffCommand(), p.policyExplainCommand(), p.policyHelpCommand(), p.policyInitCommand(), p.policyTestCommand(), p.policySchemaCommand())
	return cmd
}

func (p *program) policySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of policy files",
		Long: `Print the JSON schema of policy files, for editors that complete and check what
is typed. Many editors find the schema by the first line of a policy:

  # yaml-language-server: $schema=policy.schema.json

"policy check" finds more errors than the schema does.`,
		Example: "  mcpx-bridge policy schema > policy.schema.json",
		RunE:    func(*cobra.Command, []string) error { return p.print(policy.Schema()) },
	}
}
