package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

func (p *program) policyDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff [FLAGS] OLD NEW [--audit FILE]",
		Short: "Show which past calls another policy would have judged otherwise",
		Long: `Show which past calls another policy would have judged otherwise.

Both files judge every call in an audit log. Calls whose verdict differs are
listed, the loosened ones first, in one entry if caller, tool and rules are the
same. Limits are counted along the way.

An audit log does not hold everything: arguments that a policy hid are judged as
they stand there, calls with long arguments are left out, and the server's hints
about its tools are missing. The output says how many calls that concerns. Only
the newest 100000 calls are judged.

The exit code is 0 whether or not there are differences.`,
		Example: `  mcpx-bridge policy diff policy.yaml new.yaml --audit filesystem
  mcpx-bridge policy diff policy.yaml new.yaml --json | jq 'select(.after.verdict == "allow")'`,
		Args: help.Positional(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return p.diffPolicies(cmd, args[0], args[1]) },
	}
	cmd.Flags().StringVar(&p.s.Audit, "audit", "", "take past calls from this audit log, a `FILE` or the id of a bridge (default: the only one here)")
	return cmd
}

func (p *program) diffPolicies(cmd *cobra.Command, old, new string) error {
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
	past, err := report.ReadPast(cmd.Context(), log)
	if err != nil {
		return restless(log, err)
	}
	changes := policy.Diff(before, after, past.Calls())
	if p.s.JSON {
		for _, c := range changes {
			p.print(jsonLine(report.ChangeOf(c)))
		}
	} else {
		p.print([]byte(text.Lines(past.Compared(changes))))
	}
	for _, doubt := range past.Doubts(before, after) {
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
