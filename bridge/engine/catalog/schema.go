package catalog

import (
	"fmt"
	"regexp"

	"github.com/santhosh-tekuri/jsonschema/v6"

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
