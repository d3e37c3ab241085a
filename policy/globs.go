package policy

import (
	"strings"
	"unicode/utf8"
)

// globs are patterns of names: * stands for any run of characters, ? for one.
type globs []string

func (g globs) String() string { return strings.Join(g, ", ") }

// match gives the first of the patterns that a name fits.
func (g globs) match(name string) (string, bool) {
	for _, p := range g {
		if match(p, name) {
			return p, true
		}
	}
	return "", false
}

// match is linear in the name for each star, so a hostile tool name cannot
// make it slow: it remembers only the last star.
func match(pattern, name string) bool {
	star, from := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && pattern[p] == '?':
			p++
			n += wide(name[n:])
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			from += wide(name[from:])
			p, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// wide is the size of the first character of s.
func wide(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	return size
}
