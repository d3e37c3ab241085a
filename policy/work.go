package policy

import (
	"errors"
	"strings"
)

// No call may hold up everybody else, so a decision has so much work and no more
// (FINDINGS M3). Work is counted, never timed: the same call is judged alike on
// every machine. One unit is about a nanosecond of a machine of 2024. What a
// test takes is charged before it is done, and for its worst case.
const maxWork = 20_000_000

// What is longer is not looked at by tests whose time grows faster than the text.
const (
	maxPath   = 32 << 10  // bytes of a text that under, glob or host compares
	maxText   = 256 << 10 // bytes of a text that a regular expression is held against
	maxWhen   = 64 << 10  // bytes of each text that an expression of CEL can see
	maxFolded = 64 << 10  // bytes of different names beyond ASCII that redaction looks at
	maxName   = 1 << 10   // bytes of what is called; only the pattern * fits what is longer
)

var (
	errTooMuch = errors.New("there is too much to look at")
	errTooLong = errors.New("it is too long to be looked at")
)

// A budget is how much may still be looked at of a whole policy while everybody waits;
// below 0 it is spent. See maxCompared and maxDoubted for what is counted.
type budget int

// spend takes work off, and reports whether there was so much left.
func (b *budget) spend(work int) bool {
	if *b >= 0 {
		*b -= budget(work)
	}
	return *b >= 0
}

// numberWork is what it takes to read a number exactly. An exponent stands for as
// many digits as a number may have.
func numberWork(text string) int {
	if strings.ContainsAny(text, "eE") {
		return 20_000
	}
	return 300 + 40*min(len(text), maxDigits)
}
