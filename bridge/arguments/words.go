package arguments

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Words are the properties of a schema: name, or [name] if it need not
// be given.
func Words(schema json.RawMessage) string {
	var s struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if json.Unmarshal(schema, &s) != nil {
		return "?"
	}
	words := slices.Clone(s.Required)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(s.Required, name) {
			words = append(words, "["+name+"]")
		}
	}
	return strings.Join(words, " ")
}
