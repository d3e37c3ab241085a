package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func (p *program) policyTestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test [FLAGS] FILE…",
		Short: "Run the tests that a policy file has about itself",
		Long: `Run the tests that a policy file has about itself, and say which fail.

  tests:
    - {call: {tool: delete_note, from: ann, args: {id: 1}}, want: deny, by: never}

A test is a call, the verdict it wants (allow, ask or deny) and, if it matters,
the rule by which; "by: default" wants no rule to match. A call may have tool,
from, via, args, method, hints and now. No limit is used up in a test.

Exit codes: 0 all pass, 1 one fails, 2 a file is refused.`,
		Example: "  mcpx-bridge policy test policy.yaml\n  mcpx-bridge policy test --json examples/policies/*.yaml",
		Args:    positional(0, -1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.testPolicies(cmd, args) },
	}
	p.s.policyFileFlag(cmd.Flags())
	return cmd
}

// A testLine is the result of one test with --json.
type testLine struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Test    string `json:"test"`
	Passed  bool   `json:"passed"`
	Want    string `json:"want"`
	By      string `json:"by,omitempty"`
	Verdict string `json:"verdict"`
	Rule    string `json:"rule,omitempty"`
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
			p.print(jsonLine(testLine{file, r.Line, r.Name, r.Passed, r.Want.String(), r.By, r.Decision.Verdict.String(), r.Decision.Rule}))
		case !r.Passed:
			p.print([]byte(failedTest(file, r)))
		}
	}
	if p.s.JSON {
		return failed
	}
	text := file + ": " + counted(len(results), "test")
	switch {
	case failed > 0:
		text += fmt.Sprintf(", %d failed", failed)
	case len(results) > 0:
		text += ", all pass"
	}
	p.print([]byte(text + "\n"))
	return failed
}

func failedTest(file string, r policy.TestResult) string {
	wanted := r.Want.String()
	if r.By != "" {
		wanted += " by " + r.By
	}
	lines := []string{fmt.Sprintf("FAIL  %s:%d: %s", file, r.Line, r.Name), "      wanted " + wanted, "      got " + r.Decision.String()}
	for _, reason := range r.Decision.Reasons {
		if reason.Applies && reason.Effect == r.Decision.Verdict || reason.Rule == r.By {
			lines = append(lines, "      "+reason.Rule+": "+reason.Why)
		}
	}
	return visibleLines(strings.Join(lines, "\n")) + "\n"
}
