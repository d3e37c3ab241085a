package desktop

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A check reports whether clients take a value.
type check func(raw []byte) bool

// members is for an object with the member `needed`, if that is not "", whose
// others are as they must be or unknown.
func members(needed string, fit map[string]check) check {
	return func(raw []byte) bool {
		if !isObject(raw) {
			return false
		}
		fields, err := fieldsOf(raw)
		there := needed == ""
		for _, f := range fields {
			if fine, known := fit[f.name]; known && !fine(f.value) {
				return false
			}
			there = there || f.name == needed
		}
		return err == nil && there
	}
}

func listOf(fine check) check {
	return func(raw []byte) bool {
		all, err := elements(raw)
		return err == nil && !slices.ContainsFunc(all, func(one []byte) bool { return !fine(one) })
	}
}

func oneOf(words ...string) check {
	return func(raw []byte) bool {
		word, ok := jsonrpc.Unquote(raw)
		return ok && slices.Contains(words, word)
	}
}

func isText(raw []byte) bool {
	_, ok := jsonrpc.Unquote(raw)
	return ok
}

func isShare(raw []byte) bool {
	var n float64
	return into[float64](raw) && json.Unmarshal(raw, &n) == nil && n >= 0 && n <= 1
}

func into[T any](raw []byte) bool {
	var v T
	return string(raw) != "null" && json.Unmarshal(raw, &v) == nil
}

// checkSchema reports why clients would not take a schema.
func checkSchema(raw []byte) error {
	if !isObject(raw) {
		return errors.New("is no object")
	}
	at, err := pick(raw, "type", "properties", "required", "$defs", "definitions")
	if err != nil {
		return err
	}
	var properties map[string]json.RawMessage
	switch kind, _ := jsonrpc.Unquote(at[0]); {
	case kind != "object":
		return errors.New("is not of type object")
	case at[1] != nil && (!isObject(at[1]) || json.Unmarshal(at[1], &properties) != nil):
		return errors.New("has properties that are no object")
	case at[2] != nil && !listOf(isText)(at[2]):
		return errors.New("has no list of required properties")
	case at[3] != nil && !isObject(at[3]):
		return errors.New("has $defs that are no object")
	case at[4] != nil && !isObject(at[4]):
		return errors.New("has definitions that are no object")
	}
	for name, p := range properties {
		if !isObject(p) {
			return fmt.Errorf("has a property %.40q that is no object", name)
		}
	}
	return nil
}
