package text

import (
	"fmt"
	"strings"
)

// MadeUp is how ids begin that are made up for who gave none, as for one command: they name
// nobody. A terminal is told of one that asked nothing only when it has gone.
const MadeUp = "cli-"

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

// Series is names in a sentence: ann, ben and carol. Of more than most it has the first so many,
// and how many more there are; most 0 is for all. It is "" for none, and not made safe to show.
func Series(names []string, most int) string {
	switch n := len(names); {
	case most > 0 && n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n-most)
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// mostNamed is how many names Some gives.
const mostNamed = 20

// Some is Series for a list that is no part of a sentence: ann, ben, carol, of which it has 20.
func Some(names []string) string {
	if len(names) > mostNamed {
		return Series(names, mostNamed)
	}
	return strings.Join(names, ", ")
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

// Words is a reason, or another name that programs read and records have, for people: with
// spaces.
func Words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// Uncounted says why an answer counts for nothing; reason is the word for it in the record.
func Uncounted(reason string) string {
	switch reason {
	case "unconfirmed":
		return "no passkey has signed it"
	case "bad_passkey":
		return "no passkey that is known here has signed it"
	case "other_signed":
		return "what was signed is not what would run, or was used before"
	}
	return Words(reason)
}

// Person is somebody who is asked or decided, in words for who sits elsewhere: name is that
// which policies have.
func Person(name string) string {
	switch name {
	case "local":
		return "the person at the bridge"
	case "host":
		return "the person at the client"
	}
	return name
}
