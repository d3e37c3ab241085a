package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A pair is one argument given as KEY=VALUE, or as KEY:=JSON.
type pair struct {
	key, value string
	raw        bool
}

// callArguments are the arguments of a call as they were given: a JSON object,
// or pairs whose types only the tool's schema knows.
type callArguments struct {
	object []byte
	pairs  []pair
}

func (p *program) readArguments(args []string) (callArguments, error) {
	switch {
	case len(args) == 0:
		return callArguments{object: []byte("{}")}, nil
	case args[0] == "-" && len(args) == 1:
		text, err := io.ReadAll(io.LimitReader(p.stdin, jsonrpc.MaxSize+1))
		if err != nil {
			return callArguments{}, fail(exitFailed, "", "stdin: %w", err)
		}
		return jsonArguments("stdin", text)
	case isJSON(args[0]) && len(args) == 1:
		return jsonArguments("the arguments", []byte(args[0]))
	}
	var given callArguments
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		one := pair{key: key, value: value}
		if bare, forced := strings.CutSuffix(key, ":"); forced {
			one.key, one.raw = bare, true
		}
		if !ok || one.key == "" {
			return given, misused("write KEY=VALUE, KEY:=JSON, one JSON object, or - for stdin", "%q is no argument", a)
		}
		if slices.ContainsFunc(given.pairs, func(have pair) bool { return have.key == one.key }) {
			return given, misused("give it once; a list is "+one.key+":='[…]'", "%s is given twice", one.key)
		}
		if one.raw && !json.Valid([]byte(value)) {
			return given, misused("a string is "+one.key+"=…, without the colon", "%s: what stands behind := is no JSON", one.key)
		}
		given.pairs = append(given.pairs, one)
	}
	return given, nil
}

// isJSON reports whether a word is meant as the whole of the arguments: an object, or a
// text that holds one.
func isJSON(word string) bool {
	word = strings.TrimSpace(word)
	return strings.HasPrefix(word, "{") || strings.HasPrefix(word, `"`) && json.Valid([]byte(word))
}

// isArgument reports whether a word can only be an argument.
func isArgument(word string) bool { return word == "-" || isJSON(word) || strings.Contains(word, "=") }

// jsonArguments checks an object as strictly as the topic will. It may be the inside of
// a JSON text, as OpenAI's API has it; one without anything in it is no arguments.
func jsonArguments(source string, text []byte) (callArguments, error) {
	const hint = "arguments are one JSON object: '{\"key\": \"value\"}'"
	text = bytes.TrimSpace(text)
	rules := jsonrpc.Called
	rules.Depth -= 4 // an envelope, a message and its params go around it
	if json.Valid(text) && text[0] == '"' {
		if err := jsonrpc.Scan(slices.Concat([]byte(`{"":`), text, []byte("}")), rules, nil, nil); err != nil {
			return callArguments{}, misused(hint, "%s: %w", source, err)
		}
		inner, _ := jsonrpc.Unquote(text)
		if text = bytes.TrimSpace([]byte(inner)); len(text) == 0 {
			text = []byte("{}")
		}
	}
	if err := jsonrpc.Scan(text, rules, nil, nil); err != nil {
		return callArguments{}, misused(hint, "%s: %w", source, err)
	}
	return callArguments{object: text}, nil
}

// typed makes one JSON object of the arguments. Only pairs need the schema.
func (q *peer) typed(ctx context.Context, to, name string, given callArguments) ([]byte, error) {
	if given.object != nil {
		return given.object, nil
	}
	types := map[string][]string{}
	if slices.ContainsFunc(given.pairs, func(p pair) bool { return !p.raw }) {
		listing, cancel := context.WithTimeoutCause(ctx, client.ListTime, client.ErrNoAnswer)
		defer cancel()
		tools, err := q.Tools(listing, to, client.WithOne)
		if errors.Is(err, client.ErrNoAnswer) {
			return nil, fail(exitNoAnswer, "give them as JSON: '{\"key\":\"value\"}'", "%s does not say what arguments %s takes: it did not answer tools/list in time", to, name)
		}
		if err != nil {
			return nil, noAnswer(to, "tools/list", err)
		}
		i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == name })
		if i < 0 {
			return nil, noSuchTool(to, name, tools)
		}
		types = schemaTypes(tools[i].InputSchema)
	}
	return given.withTypes(types)
}

// withTypes makes one JSON object of the pairs, with the types of a schema.
func (given callArguments) withTypes(types map[string][]string) ([]byte, error) {
	object := []byte{'{'}
	for i, p := range given.pairs {
		if i > 0 {
			object = append(object, ',')
		}
		value, err := p.json(types[p.key])
		if err != nil {
			return nil, err
		}
		object = append(append(jsonrpc.AppendQuote(object, p.key), ':'), value...)
	}
	checked, err := jsonArguments("the arguments", append(object, '}'))
	return checked.object, err
}

func noSuchTool(to, name string, tools []tool) error {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	hint := "mcpx-bridge tools " + to + " lists them"
	if meant := policy.Nearest(name, names); meant != "" {
		hint = "did you mean " + meant + "?"
	}
	return fail(exitFailed, hint, "%s has no tool %q", to, name)
}

// schemaTypes are the types of a schema's properties, as far as it says them
// outright.
func schemaTypes(schema []byte) map[string][]string {
	var s struct {
		Properties map[string]struct{ Type json.RawMessage }
	}
	types := map[string][]string{}
	if json.Unmarshal(schema, &s) != nil {
		return types
	}
	for name, property := range s.Properties {
		var one string
		var many []string
		if json.Unmarshal(property.Type, &one) == nil {
			many = []string{one}
		} else if json.Unmarshal(property.Type, &many) != nil {
			continue
		}
		types[name] = many
	}
	return types
}

// json is the argument as JSON of one of the types. A string stays one
// wherever the schema allows it.
func (p pair) json(types []string) ([]byte, error) {
	if p.raw {
		return []byte(p.value), nil
	}
	if len(types) == 0 || slices.Contains(types, "string") {
		return jsonrpc.AppendQuote(nil, p.value), nil
	}
	if !json.Valid([]byte(p.value)) || !slices.Contains(types, jsonType(p.value)) && !(slices.Contains(types, "number") && jsonType(p.value) == "integer") {
		return nil, misused("force a value with "+p.key+":=JSON", "%s should be %s, and %q is not", p.key, strings.Join(types, " or "), p.value)
	}
	return []byte(strings.TrimSpace(p.value)), nil
}

// jsonType is the schema's word for a JSON value.
func jsonType(value string) string {
	value = strings.TrimSpace(value)
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(value, ".eE") {
		return "number"
	}
	return "integer"
}
