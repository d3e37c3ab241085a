package install

import (
	"bytes"

	"github.com/goccy/go-yaml/token"
)

// What a file may cost. A project's file comes with whatever repository somebody looks
// into, and what it says is read before anybody has seen it.
const (
	maxShared  = 4 << 20 // bytes of a project's file
	maxNesting = 1000    // brackets in one another; encoding/json takes 10 000
	maxTokens  = 20_000  // words and signs of YAML, = and [ of TOML: the parsers of both take the square of them
	maxAliases = 10      // of YAML; what ten stand for is 40 times the file at most
)

// tooDeep is where more than maxNesting brackets of JSON with comments stand in one
// another; -1 means nowhere. The parser has no bound of its own, and a million of them
// ended the program. The one of TOML has.
func tooDeep(text []byte) int {
	depth := 0
	for at := 0; at < len(text); {
		n := 1
		switch c := text[at]; c {
		case '"':
			n = quotedLen(text[at:])
		case '/':
			n = commentLen(text[at:])
		case '[', '{':
			if depth++; depth > maxNesting {
				return at
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
		at += n
	}
	return -1
}

func quotedLen(text []byte) int {
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}

func commentLen(text []byte) int {
	end := ""
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		end = "\n"
	case bytes.HasPrefix(text, []byte("/*")):
		end = "*/"
	default:
		return 1
	}
	if at := bytes.Index(text[2:], []byte(end)); at >= 0 {
		return 2 + at + len(end)
	}
	return len(text)
}

// bounded refuses YAML that would take its parser, or whoever follows its aliases, too
// long.
func bounded(tokens token.Tokens) error {
	aliases, depth := 0, 0
	for _, t := range tokens {
		var e *Error
		switch t.Type {
		case token.AliasType:
			if aliases++; aliases > maxAliases {
				e = wrong("there are more than %d aliases", maxAliases)
			}
		case token.SequenceStartType, token.MappingStartType:
			if depth++; depth > maxNesting/10 {
				e = wrong("more than %d brackets stand in one another here", maxNesting/10)
			}
		case token.SequenceEndType, token.MappingEndType:
			depth = max(0, depth-1)
		}
		if e != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
			return e
		}
	}
	if len(tokens) > maxTokens {
		return wrong("it has more than %d words and signs", maxTokens)
	}
	return nil
}
