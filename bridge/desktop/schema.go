package desktop

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A schema is the whole of what a tool promises about its results. Clients
// compile that when they read a list, each with a validator of its own, and one
// that does not compile costs them the list. So it is taken only if there is
// nothing in it but what all validators know: no reference to what is elsewhere,
// and no pattern, for these are code of a stranger's.
type schema map[string]any

// compiles reports whether a schema may be given to a client.
func compiles(raw []byte) bool {
	var root schema
	return json.Unmarshal(raw, &root) == nil && root.fine(map[string]any(root))
}

func (root schema) fine(v any) bool {
	if _, ok := v.(bool); ok {
		return true
	}
	here, ok := v.(map[string]any)
	for word, v := range here {
		ok = ok && root.takes(word, v)
	}
	return ok
}

// takes reports whether a keyword has a value that it can have.
func (root schema) takes(word string, v any) bool {
	switch word {
	case "default", "const", "examples":
		return true
	case "title", "description", "format", "$schema", "$comment":
		return isA[string](v)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return isA[bool](v)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return isA[float64](v)
	case "enum":
		return someOf(v, func(any) bool { return true })
	case "required":
		return someOf(v, isA[string]) || isA[[]any](v) && len(v.([]any)) == 0
	case "type":
		return isType(v) || someOf(v, isType)
	case "items":
		return root.fine(v) || someOf(v, root.fine)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return someOf(v, root.fine)
	case "additionalItems", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames":
		return root.fine(v)
	case "properties", "$defs", "definitions":
		return root.named(v)
	case "$ref":
		return root.leads(v)
	}
	return strings.HasPrefix(word, "x-")
}

func isA[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

func isType(v any) bool {
	name, _ := v.(string)
	return slices.Contains([]string{"null", "boolean", "object", "array", "number", "integer", "string"}, name)
}

// someOf is for a list that is not empty.
func someOf(v any, fine func(any) bool) bool {
	all, _ := v.([]any)
	return len(all) > 0 && !slices.ContainsFunc(all, func(one any) bool { return !fine(one) })
}

// named is for schemas that have names.
func (root schema) named(v any) bool {
	all, ok := v.(map[string]any)
	for _, one := range all {
		ok = ok && root.fine(one)
	}
	return ok
}

var plainName = text.Pattern(`^[A-Za-z0-9_.-]+$`)

// leads reports whether a reference leads to a definition of this very schema
// that does not lead on: some validators follow a circle without end.
func (root schema) leads(v any) bool {
	to, _ := v.(string)
	for _, table := range []string{"$defs", "definitions"} {
		name, ok := strings.CutPrefix(to, "#/"+table+"/")
		defs, _ := root[table].(map[string]any)
		if def, there := defs[name]; ok && there && plainName().MatchString(name) {
			fields, _ := def.(map[string]any)
			_, on := fields["$ref"]
			return !on
		}
	}
	return to == "#" && root["$ref"] == nil
}
