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

// mostNamed is how many names Some gives.
const mostNamed = 20

// Some is the first 20 of many names, and how many more there are; "" for none. It is not
// made safe to show.
func Some(names []string) string {
	first := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", first, more)
	}
	return first
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

// Fill sets the words of s in lines of at most so many columns, where no word is longer, each
// behind indent; the last has no newline.
func Fill(s, indent string, columns int) string {
	var lines []string
	line := indent
	for word := range strings.FieldsSeq(s) {
		if line != indent && Width(line)+len(" ")+Width(word) > columns {
			lines, line = append(lines, line), indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}
