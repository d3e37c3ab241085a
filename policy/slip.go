package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// slip names the mistakes that everybody makes who writes patterns in YAML, and of which
// the parser speaks in its own terms; nil if a file has none. It is asked about files alone
// that do not parse, or hold what no policy may; line is where.
func slip(text string, tokens token.Tokens, line int) *LoadError {
	if star := bareStar(text, tokens); star != nil {
		return star
	}
	indent, _ := cutIndent(lineOf(text, line))
	if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
		return &LoadError{Line: line, Column: tab + 1, Message: "a tab; YAML indents with spaces"}
	}
	return nil
}

// cutIndent parts a line before its first word; dashes of lists are no words.
func cutIndent(line string) (indent, rest string) {
	rest = strings.TrimLeft(line, " \t-")
	return line[:len(line)-len(rest)], rest
}

func lineOf(text string, n int) string {
	lines := strings.SplitN(text, "\n", n+1)
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

// bareStar finds the first star that YAML takes for a reference, in a file that has
// nothing to refer to.
func bareStar(text string, tokens token.Tokens) *LoadError {
	is := func(kind token.Type) func(*token.Token) bool {
		return func(t *token.Token) bool { return t.Type == kind }
	}
	i := slices.IndexFunc(tokens, is(token.AliasType))
	if i < 0 || slices.ContainsFunc(tokens, is(token.AnchorType)) {
		return nil
	}
	at := tokens[i].Position
	pattern := []rune(lineOf(text, at.Line))
	if at.Column < 1 || at.Column > len(pattern) {
		return nil
	}
	word := string(pattern[at.Column-1:])
	if end := strings.IndexAny(word, " \t\r,]}"); end >= 0 {
		word = word[:end]
	}
	return &LoadError{Line: at.Line, Column: at.Column, Message: "a * at the beginning has to be in quotes: " + quoted(word, tokens[:i])}
}

// quoted is how a pattern is written right, by what stands before it.
func quoted(pattern string, before token.Tokens) string {
	if key, is := strings.CutSuffix(pattern, ":"); is {
		return fmt.Sprintf("%q: …", key)
	}
	listed := false
	for i, t := range slices.Backward(before) {
		switch t.Type {
		case token.SequenceStartType, token.SequenceEntryType:
			listed = true
		case token.MappingValueType:
			key := before[max(0, i-1)].Value
			if listed || slices.Contains([]string{"allow", "ask", "deny", "from", "methods", "tools"}, key) {
				return fmt.Sprintf("%s: [%q]", key, pattern)
			}
			return fmt.Sprintf("%s: %q", key, pattern)
		}
	}
	return fmt.Sprintf("%q", pattern)
}

// askedWith are the keys of an ask, each with one that has it, for those who write it
// beside the rule that asks.
var askedWith = map[string]string{
	"of":       "{of: [ann, ben], need: 2}",
	"need":     "{of: [ann, ben], need: 2}",
	"within":   "{of: [ann], within: 10m}",
	"mode":     "{of: [ann, ben], mode: sequential}",
	"priority": "{of: [ann], priority: high}",
	"remember": "{of: [ann], remember: [once, session]}",
	"delegate": "{of: [ann], delegate: {to: [ben]}}",
	"edit":     "{of: [ann], edit: {amount: {arg: /amount}}}",
	"extends":  "{extends: default, within: 10m}",
}
