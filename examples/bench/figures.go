package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// rewrite puts a report between the lines "<!-- bench: report -->" and
// "<!-- /bench -->" of a file, and its goals after "<!-- bench: goals -->".
func rewrite(file, report string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	after, err := withFigures(string(text), report)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(after), 0o644)
}

func withFigures(text, report string) (string, error) {
	_, goals, ok := strings.Cut(report, "\n"+goalsHead+"\n")
	goals, _, ok2 := strings.Cut(goals, "\n\n")
	if !ok || !ok2 {
		return "", errors.New("the report has no goals")
	}
	found := false
	for name, figures := range map[string]string{"report": report, "goals": goals} {
		before, rest, ok := strings.Cut(text, "<!-- bench: "+name+" -->\n")
		_, after, ok2 := strings.Cut(rest, "<!-- /bench -->")
		if ok && ok2 {
			text = before + "<!-- bench: " + name + " -->\n```text\n" + strings.Trim(figures, "\n") + "\n```\n<!-- /bench -->" + after
			found = true
		}
	}
	if !found {
		return "", errors.New("there is no place for figures")
	}
	return text, nil
}
