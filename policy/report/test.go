package report

import (
	"fmt"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A Test is the result of one of a file's own tests as JSON.
type Test struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Test    string `json:"test"`
	Passed  bool   `json:"passed"`
	Want    string `json:"want"`
	By      string `json:"by,omitempty"`
	Verdict string `json:"verdict"`
	Rule    string `json:"rule,omitempty"`
}

// TestOf is the result of a test as JSON.
func TestOf(file string, r policy.TestResult) Test {
	return Test{file, r.Line, r.Name, r.Passed, r.Want.String(), r.By, r.Decision.Verdict.String(), r.Decision.Rule}
}

// FailedTest says to people what a test wanted, what it got, and by which rules.
func FailedTest(file string, r policy.TestResult) string {
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
	return text.Lines(strings.Join(lines, "\n")) + "\n"
}
