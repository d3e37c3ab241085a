package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxFile is how many bytes a policy file has at most. Its author is trusted,
// but a file may be the wrong one.
const MaxFile = 256 << 10

// maxNesting is how deep the brackets of a file may stand in one another.
const maxNesting = 200

// An item is one value of a file, with the place where it stands. What
// different readers of YAML read differently does not become an item.
type item struct {
	line, column int
	form         form
	text         string // of a scalar
	plain        bool   // a scalar without quotes
	block        bool   // a scalar whose text begins on the next line
	keys         []item // of a mapping, beside values
	values       []item // of a mapping or a list
}

type form uint8

const (
	scalar form = iota
	list
	mapping
	nothing // a key without a value
)

func (f form) String() string {
	return [...]string{"a single value", "a list", "a mapping", "nothing"}[f]
}

// parse reads one YAML document, of which JSON is a part.
func parse(data []byte) (item, *LoadError) {
	if err := readable(data); err != nil {
		return item{}, err
	}
	text := string(data)
	tokens := lexer.Tokenize(text)
	if nested(tokens) > maxNesting {
		return item{}, tooDeep()
	}
	f, failed := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // we find them ourselves
	if failed != nil {
		wrong := syntaxError(failed)
		return item{}, cmp.Or(slip(text, tokens, wrong.Line), wrong)
	}
	var t tree
	var roots []item
	for _, doc := range f.Docs {
		if doc.Body != nil {
			roots = append(roots, t.item(doc.Body))
		}
	}
	switch {
	case t.refused != nil:
		return item{}, cmp.Or(bareStar(text, tokens), t.refused)
	case len(roots) == 0:
		return item{}, &LoadError{Line: 1, Column: 1, Message: "the file is empty", Suggestion: "a policy has at least a default: allow, ask or deny"}
	case len(roots) > 1:
		return item{}, &LoadError{Line: roots[1].line, Column: roots[1].column, Message: "the file holds a second document; a policy is one"}
	}
	return roots[0], nil
}

// The parser takes time without end for deeply nested files, so these are turned away
// by a look from outside.
var manyDashes = lazily(`(?m)^[ \t]*(-[ \t]+){40}`)

func tooDeep() *LoadError { return &LoadError{Message: "the file is nested too deeply"} }

// nested is how deep the brackets stand in one another. Tokens are what the parser goes
// by: a bracket within quotes or a comment is none.
func nested(tokens token.Tokens) (deepest int) {
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
			deepest = max(deepest, depth)
		case token.SequenceEndType, token.MappingEndType:
			depth = max(0, depth-1)
		}
	}
	return deepest
}

func readable(data []byte) *LoadError {
	switch {
	case len(data) > MaxFile:
		return &LoadError{Message: fmt.Sprintf("the file has over %d bytes, more than a policy has", MaxFile)}
	case !utf8.Valid(data):
		return &LoadError{Message: "the file is not UTF-8"}
	case manyDashes().Match(data):
		return tooDeep()
	}
	return OneBreak(data)
}

// OneBreak refuses, with its place, what ends a line to some readers of YAML and some
// editors only: a carriage return alone, U+0085, U+2028, U+2029. Behind it a comment
// ends for the one and goes on for the other (FINDINGS L4). It is nil where there is
// none.
func OneBreak(data []byte) *LoadError {
	line, column := 1, 1
	for i, r := range string(data) {
		alone := r == '\r' && !bytes.HasPrefix(data[i+1:], []byte("\n"))
		if alone || r == '\u0085' || r == '\u2028' || r == '\u2029' {
			return &LoadError{Line: line, Column: column, Suggestion: "end lines with a line feed; within quotes \\r, \\N, \\L and \\P stand for such characters",
				Message: fmt.Sprintf("%U ends a line for some readers and not for others", r)}
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return nil
}

func syntaxError(err error) *LoadError {
	e := &LoadError{Line: 1, Column: 1, Message: "this is no YAML: " + err.Error()}
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) {
		e.Message = "this is no YAML: " + syntax.Message
		e.Line, e.Column = syntax.Token.Position.Line, syntax.Token.Position.Column
	}
	return e
}

// A tree is a file on its way from the parser's nodes to items. It keeps the
// first thing that no policy may hold.
type tree struct {
	refused *LoadError
}

func (t *tree) item(n ast.Node) item {
	it := at(n.GetToken())
	switch n := n.(type) {
	case *ast.MappingNode:
		t.mapping(&it, n)
	case *ast.SequenceNode:
		it.form, it.text = list, ""
		for _, v := range n.Values {
			it.values = append(it.values, t.item(v))
		}
	case *ast.NullNode:
		it.plain = true
		if n.Token.Type == token.ImplicitNullType {
			it.form = nothing
		}
	case *ast.LiteralNode:
		it.text, it.block = n.Value.Value, true
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		quote := n.GetToken().Type
		it.plain = quote != token.DoubleQuoteType && quote != token.SingleQuoteType
	default:
		t.refuse(it, "anchors, aliases, merge keys, tags and directives are not read in a policy", "say it again where it is needed; asks share terms with extends")
	}
	return it
}

func at(tk *token.Token) item {
	return item{line: tk.Position.Line, column: tk.Position.Column, text: tk.Value}
}

func (t *tree) mapping(it *item, n *ast.MappingNode) {
	it.form, it.text = mapping, ""
	for i, pair := range n.Values {
		key := t.item(pair.Key)
		if i == 0 && !n.IsFlowStyle {
			it.line, it.column = key.line, key.column
		}
		if key.form == scalar && slices.ContainsFunc(it.keys, func(k item) bool { return k.text == key.text }) {
			t.refuse(key, fmt.Sprintf("the key %q stands twice in one mapping", key.text), "")
		}
		it.keys = append(it.keys, key)
		it.values = append(it.values, t.item(pair.Value))
	}
}

func (t *tree) refuse(it item, message, suggestion string) {
	if t.refused == nil {
		t.refused = &LoadError{Line: it.line, Column: it.column, Message: message, Suggestion: suggestion}
	}
}

// spelling is an item without its place: two that say the same in the same words
// have the same.
func (at item) spelling() string {
	var b strings.Builder
	b.WriteByte("slm-"[at.form])
	if at.form == scalar {
		b.WriteString(strconv.Quote(at.text) + strconv.FormatBool(at.plain))
	}
	for i, v := range at.values {
		if at.form == mapping {
			b.WriteString(at.keys[i].spelling())
		}
		b.WriteString(v.spelling())
	}
	b.WriteByte('.')
	return b.String()
}
