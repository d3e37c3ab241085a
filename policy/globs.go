package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Globs is a policy of tool-name patterns, as given by the flags --allow and
// --deny. In a pattern * stands for any run of characters, ? for any one. The
// zero Globs denies everything.
type Globs struct {
	Allow []string
	Deny  []string
}

// Check reports the first pattern that cannot match any tool.
func (g Globs) Check() error {
	for _, p := range append(append([]string{}, g.Allow...), g.Deny...) {
		if strings.TrimSpace(p) != p || p == "" {
			return fmt.Errorf("the pattern %q is empty or has white space around it", p)
		}
	}
	return nil
}

// Decide is total: it has an answer for every call. Methods other than
// tools/call are named by no pattern and so denied.
func (g Globs) Decide(c Call) Decision {
	if c.Method != "tools/call" {
		return Decision{}
	}
	if p, ok := first(g.Deny, c.Tool); ok {
		return Decision{Verdict: Deny, Rule: "--deny " + p}
	}
	if p, ok := first(g.Allow, c.Tool); ok {
		return Decision{Verdict: Allow, Rule: "--allow " + p}
	}
	return Decision{}
}

func first(patterns []string, name string) (string, bool) {
	for _, p := range patterns {
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
