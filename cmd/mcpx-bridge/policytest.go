package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

func (p *program) policyTestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test [FLAGS] FILE…",
		Short: "Run the tests that a policy file has about itself",
		Long: `Run the tests that a policy file has about itself, and say which fail.

  tests:
    - {call: {tool: delete_note, args: {id: 1}}, want: deny, by: never}

A test is a call, the verdict it wants (allow, ask or deny) and, if it matters,
the rule by which; "by: default" wants no rule to match. A call may have tool,
from, via, args, method, hints and now. No limit is used up in a test.

Exit codes: 0 all pass, 1 one fails, 2 a file is refused.`,
		Example: "  mcpx-bridge policy test policy.yaml\n  mcpx-bridge policy test --json examples/policies/*.yaml",
		Args:    help.Positional(0, -1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.testPolicies(cmd, args) },
	}
	p.s.policyFileFlag(cmd.Flags())
	return cmd
}

// testPolicies reads all files before it runs the tests of the first.
func (p *program) testPolicies(cmd *cobra.Command, args []string) error {
	files, err := p.policyFiles(cmd, args)
	if err != nil {
		return err
	}
	policies := make([]*policy.Policy, len(files))
	for i, file := range files {
		if policies[i], err = p.onePolicy(file); err != nil {
			return err
		}
	}
	failed := 0
	for i, file := range files {
		failed += p.testPolicy(file, policies[i].Test())
	}
	if failed > 0 {
		return &failure{Exit: exitFailed}
	}
	return nil
}

// testPolicy shows the results of one file and counts those that failed.
func (p *program) testPolicy(file string, results []policy.TestResult) (failed int) {
	for _, r := range results {
		if !r.Passed {
			failed++
		}
		switch {
		case p.s.JSON:
			p.print(jsonLine(report.TestOf(file, r)))
		case !r.Passed:
			p.print([]byte(report.FailedTest(file, r)))
		}
	}
	if p.s.JSON {
		return failed
	}
	words := file + ": " + text.Counted(len(results), "test")
	switch {
	case failed > 0:
		words += fmt.Sprintf(", %d failed", failed)
	case len(results) > 0:
		words += ", all pass"
	}
	p.print([]byte(words + "\n"))
	return failed
}
