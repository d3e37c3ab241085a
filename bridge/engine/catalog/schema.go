package catalog

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// CompileSchema never fetches anything. It always returns a check; with an
// error, one that passes everything.
//
// It does not try one that nobody would write: a server could make everybody
// wait for the compiler, which takes seconds over hundreds of levels.
func CompileSchema(schema []byte) (check func([]byte) error, err error) {
	check = func([]byte) error { return nil }
	if len(schema) == 0 {
		return check, nil
	}
	if err := jsonrpc.Scan(schema, schemaRules, nil, nil); jsonrpc.Is(err, jsonrpc.TooDeep, jsonrpc.TooLarge) {
		return check, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenientRegexp)
	root := Value(schema)
	if err := c.AddResource("tool:schema", root); err != nil {
		return check, err
	}
	compiled, err := c.Compile("tool:schema")
	if err != nil {
		return check, err
	}
	mute := deaf(schema) // large arguments are large strings as a rule, and each would be copied twice
	plain := readPlain(schema)
	tree := newSchemaTree(c, compiled, root)
	patternWork, enumWork := map[string]int{}, map[*jsonschema.Schema]int{}
	names := map[*jsonschema.Schema]map[string]string{}
	return func(arguments []byte) error {
		if plain != nil && plain.fits(arguments) {
			return nil
		}
		w := scale{tree: tree, patternWork: patternWork, enumWork: enumWork, left: maxCheck}
		v, ok := values{arguments, mute, &w.left}.counted()
		if !ok || tree == nil || !w.weigh(compiled, v) {
			return ErrTooMuchToCheck
		}
		if err := compiled.Validate(v); err != nil {
			return firstMisfit(err)
		}
		return spelled(tree, names, v)
	}, nil
}

// schemaRules bound the schemas that are used.
var schemaRules = jsonrpc.Rules{Depth: jsonrpc.MaxDepth, Size: 1 << 20, Values: jsonrpc.MaxValues}

// noLoader refuses references that lead out of the schema: a server must not
// make us open anything (RELIABILITY 2.2, "schema attacks").
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not fetched", url) }

// lenientRegexp takes patterns in other dialects than Go's as matching all.
func lenientRegexp(pattern string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return re, nil
	}
	return anyText(pattern), nil
}

type anyText string

func (anyText) MatchString(string) bool { return true }
func (a anyText) String() string        { return string(a) }

// A plainSchema is what most tools want of their arguments: certain members, each
// of a simple type. That arguments fit it can be seen while reading them, which
// takes a tenth of the validator's time. It only ever says yes: all that does not
// fit, or is not as simple, is left to the validator.
type plainSchema struct {
	members  map[string]plainMember
	required int  // how many of the members are
	closed   bool // no other members than the listed

	folded map[string]bool // what members are called, as package fold has it
}

type plainMember struct {
	listed   bool   // among the properties
	of       string // its type then; "" for one that the validator must look at
	required bool
}

// notes are words of a schema that ask for nothing.
type notes struct {
	Title       jsontext.Value `json:"title"`
	Description jsontext.Value `json:"description"`
	Default     jsontext.Value `json:"default"`
	Examples    jsontext.Value `json:"examples"`
}

// readPlain returns nil for a schema that is not plain. It must be one that the
// validator has taken, so that a type is one of those there are.
func readPlain(schema []byte) *plainSchema {
	var s struct {
		notes
		Dialect    jsontext.Value            `json:"$schema"`
		Type       string                    `json:"type"`
		Properties map[string]jsontext.Value `json:"properties"`
		Required   []string                  `json:"required"`
		Additional *bool                     `json:"additionalProperties"`
	}
	if json.Unmarshal(schema, &s, json.RejectUnknownMembers(true)) != nil || s.Type != "object" {
		return nil
	}
	p := &plainSchema{members: map[string]plainMember{}, folded: map[string]bool{}, closed: s.Additional != nil && !*s.Additional}
	for name, text := range s.Properties {
		var m struct {
			notes
			Type string `json:"type"`
		}
		if json.Unmarshal(text, &m, json.RejectUnknownMembers(true)) != nil {
			m.Type = ""
		}
		p.members[name] = plainMember{listed: true, of: m.Type}
	}
	for _, name := range s.Required {
		m := p.members[name]
		m.required = true
		p.members[name] = m
	}
	for name := range p.members {
		p.folded[fold.Name(name)] = true
	}
	p.required = len(s.Required) // of which none is there twice: the validator would not have taken it
	return p
}

// fits reports whether arguments that were scanned strictly before fit for
// certain. It does not check again that they are JSON.
func (p *plainSchema) fits(object []byte) bool {
	if object[0] != '{' {
		return false
	}
	missing := p.required
	i := SkipSpace(object, 1)
	for ; object[i] != '}'; i = SkipSpace(object, i) {
		if object[i] == ',' {
			i = SkipSpace(object, i+1)
		}
		end := jsonrpc.StringEnd(object, i)
		key := object[i+1 : end-1]
		at := SkipSpace(object, SkipSpace(object, end)+1)
		m, named := p.members[string(key)]
		if !named && p.resembles(key) {
			return false
		}
		if i = scalarEnd(object, at); i < 0 || bytes.IndexByte(key, '\\') >= 0 || !p.takes(m, object[at:i]) {
			return false
		}
		if m.required {
			missing--
		}
	}
	return missing == 0
}

// resembles reports whether a key that is none of the members' may be taken for one.
func (p *plainSchema) resembles(key []byte) bool {
	var room [64]byte
	return p.folded[string(fold.Append(room[:0], key))]
}

// takes reports whether a member may have this value for certain.
func (p *plainSchema) takes(m plainMember, scalar []byte) bool {
	if !m.listed {
		return !p.closed
	}
	want := m.of
	switch scalar[0] {
	case '"':
		return want == "string"
	case 't', 'f':
		return want == "boolean"
	case 'n':
		return want == "null"
	}
	return want == "number" || want == "integer" && bytes.IndexByte(scalar, '.') < 0
}

// scalarEnd is the offset after the value at i. It is negative for what is left to
// the validator: objects, arrays, and numbers that may be a [VastNumber].
func scalarEnd(text []byte, i int) int {
	switch text[i] {
	case '{', '[':
		return -1
	case '"':
		return jsonrpc.StringEnd(text, i)
	}
	end := i + bytes.IndexAny(text[i:], " \t\r\n,}")
	isNumber := text[i] <= '9' // no true, false or null
	if isNumber && (end-i > MaxDigits || bytes.ContainsAny(text[i:end], "eE")) {
		return -1
	}
	return end
}
