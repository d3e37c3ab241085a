package arguments

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A pair is one argument given as KEY=VALUE, or as KEY:=JSON.
type pair struct {
	key, value string
	raw        bool
}

// Arguments are the arguments of a call as they were given: a JSON object,
// or pairs whose types only the tool's schema knows.
type Arguments struct {
	object []byte
	pairs  []pair
}

// Read reads the words behind the name of a tool: none, one JSON object, - for one that
// stdin holds, or KEY=VALUE and KEY:=JSON. It reads stdin for - alone, and no further than
// a message may be long.
func Read(words []string, stdin io.Reader) (Arguments, error) {
	switch {
	case len(words) == 0:
		return Arguments{object: []byte("{}")}, nil
	case words[0] == "-" && len(words) == 1:
		text, err := io.ReadAll(io.LimitReader(stdin, jsonrpc.MaxSize+1))
		if err != nil {
			return Arguments{}, fault.New(fault.Failed, "", "stdin: %w", err)
		}
		return of("stdin", text)
	case isJSON(words[0]) && len(words) == 1:
		return of("the arguments", []byte(words[0]))
	}
	var all Arguments
	for _, a := range words {
		key, value, ok := strings.Cut(a, "=")
		one := pair{key: key, value: value}
		if bare, forced := strings.CutSuffix(key, ":"); forced {
			one.key, one.raw = bare, true
		}
		if !ok || one.key == "" {
			return all, fault.New(fault.Misused, "write KEY=VALUE, KEY:=JSON, one JSON object, or - for stdin", "%q is no argument", a)
		}
		if slices.ContainsFunc(all.pairs, func(have pair) bool { return have.key == one.key }) {
			return all, fault.New(fault.Misused, "give it once; a list is "+one.key+":='[…]'", "%s is given twice", one.key)
		}
		if one.raw && !json.Valid([]byte(value)) {
			return all, fault.New(fault.Misused, "a string is "+one.key+"=…, without the colon", "%s: the text after := is no JSON", one.key)
		}
		all.pairs = append(all.pairs, one)
	}
	return all, nil
}

func of(source string, text []byte) (Arguments, error) {
	object, err := Strict(source, text)
	return Arguments{object: object}, err
}

// isJSON reports whether a word is meant as the whole of the arguments: an object, or a
// text that holds one.
func isJSON(word string) bool {
	word = strings.TrimSpace(word)
	return strings.HasPrefix(word, "{") || strings.HasPrefix(word, `"`) && json.Valid([]byte(word))
}

// IsArgument reports whether a word can only be an argument.
func IsArgument(word string) bool { return word == "-" || isJSON(word) || strings.Contains(word, "=") }

// Strict checks an object as strictly as the topic will, and returns it. It may be the inside
// of a JSON text, as OpenAI's API has it; one without anything in it is no arguments. An error
// begins with source.
func Strict(source string, text []byte) ([]byte, error) {
	const hint = "arguments are one JSON object: '{\"key\": \"value\"}'"
	text = bytes.TrimSpace(text)
	rules := jsonrpc.Called
	rules.Depth -= 4 // an envelope, a message and its params go around it
	if json.Valid(text) && text[0] == '"' {
		if err := jsonrpc.Scan(slices.Concat([]byte(`{"":`), text, []byte("}")), rules, nil, nil); err != nil {
			return nil, fault.New(fault.Misused, hint, "%s: %w", source, err)
		}
		inner, _ := jsonrpc.Unquote(text)
		if text = bytes.TrimSpace([]byte(inner)); len(text) == 0 {
			text = []byte("{}")
		}
	}
	if err := jsonrpc.Scan(text, rules, nil, nil); err != nil {
		return nil, fault.New(fault.Misused, hint, "%s: %w", source, err)
	}
	return text, nil
}

// NeedTypes reports whether a schema has to say what some of the arguments are.
func (a Arguments) NeedTypes() bool {
	return slices.ContainsFunc(a.pairs, func(p pair) bool { return !p.raw })
}

// Object makes one JSON object of the arguments, in which pairs have the types of a schema.
func (a Arguments) Object(types Types) ([]byte, error) {
	return a.with(func(p pair) ([]byte, error) { return p.json(types[p.key]) })
}

// Guessed is Object where no schema says what the arguments are: what looks like a number or
// a boolean is one.
func (a Arguments) Guessed() ([]byte, error) {
	return a.with(pair.guess)
}

func (a Arguments) with(value func(pair) ([]byte, error)) ([]byte, error) {
	if a.object != nil {
		return a.object, nil
	}
	object := []byte{'{'}
	for i, p := range a.pairs {
		if i > 0 {
			object = append(object, ',')
		}
		text, err := value(p)
		if err != nil {
			return nil, err
		}
		object = append(append(jsonrpc.AppendQuote(object, p.key), ':'), text...)
	}
	return Strict("the arguments", append(object, '}'))
}

// Types are the types that a value may have, by the name of its argument.
type Types map[string][]string

// TypesOf are the types of a schema's properties, as far as it says them outright.
func TypesOf(schema []byte) Types {
	var s struct {
		Properties map[string]struct{ Type json.RawMessage }
	}
	types := Types{}
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
		return nil, fault.New(fault.Misused, "force a value with "+p.key+":=JSON", "%s should be %s, and %q is not", p.key, strings.Join(types, " or "), p.value)
	}
	return []byte(strings.TrimSpace(p.value)), nil
}

// guess is the argument as JSON by its looks.
func (p pair) guess() ([]byte, error) {
	if p.raw || json.Valid([]byte(p.value)) && slices.Contains([]string{"integer", "number", "boolean"}, jsonType(p.value)) {
		return []byte(p.value), nil
	}
	return jsonrpc.AppendQuote(nil, p.value), nil
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
