package text

import (
	"fmt"
	"strings"
)

// Counted is a number of things: no rules, 1 rule, 2 rules.
func Counted(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Summary is the first sentence or line of a description, cut to 80 characters. It is not
// made safe to show.
func Summary(about string) string {
	about, _, _ = strings.Cut(strings.TrimSpace(about), "\n")
	if i := strings.Index(about, ". "); i > 0 {
		about = about[:i]
	}
	if r := []rune(about); len(r) > 80 {
		about = string(r[:79]) + "…"
	}
	return about
}
