package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A scale weighs how much the validator would have to do, by going the ways that
// it would go, without looking whether anything fits.
type scale struct {
	tree        *schemaTree
	patternWork map[string]int             // for a byte of text
	enumWork    map[*jsonschema.Schema]int // to compare a value with all that are listed
	way         []*jsonschema.Schema       // that led here, from the first
	here        int                        // where in it those about the present value begin
	left        int
}

// weigh reports whether there is work enough left to hold v against s.
func (w *scale) weigh(s *jsonschema.Schema, v any) bool {
	w.left -= workVisit + workPass*(len(w.way)-w.here)
	if w.left < 0 || s.Bool != nil || slices.Contains(w.way[w.here:], s) { // the validator refuses what leads to itself
		return w.left >= 0
	}
	w.way = append(w.way, s)
	defer func() { w.way = w.way[:len(w.way)-1] }()
	w.scalars(s, v)
	if !w.all(w.tree.inPlace[s], v) {
		return false
	}
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		w.left -= workLookup * len(w.way) // it asks each what the name means there
		if !w.all(w.tree.meant(s), v) {
			return false
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return w.object(s, v)
	case []any:
		return w.array(s, v)
	}
	return w.left >= 0
}

func (w *scale) all(schemas []*jsonschema.Schema, v any) bool {
	for _, each := range schemas {
		if !w.weigh(each, v) {
			return false
		}
	}
	return w.left >= 0
}

// inside weighs schemas of a value within the present one.
func (w *scale) inside(schemas []*jsonschema.Schema, v any) bool {
	here := w.here
	w.here = len(w.way)
	defer func() { w.here = here }()
	return w.all(schemas, v)
}

// scalars weighs what looks at a value as a whole.
func (w *scale) scalars(s *jsonschema.Schema, v any) {
	if s.Enum != nil {
		each, known := w.enumWork[s]
		if !known {
			each = comparing(s.Enum.Values)
			w.enumWork[s] = each
		}
		w.left -= each + comparing(v)*len(s.Enum.Values)
	}
	if s.Const != nil {
		w.left -= comparing(v) + comparing(*s.Const)
	}
	if text, ok := v.(string); ok {
		if s.MaxLength != nil || s.MinLength != nil {
			w.left -= len(text) / 2
		}
		w.match(s.Pattern, text)
		if s.Format != nil {
			w.left -= 50 * len(text)
		}
	}
	if n, ok := v.(json.Number); ok {
		w.left -= reading(n)
	}
}

// match weighs a pattern.
func (w *scale) match(pattern jsonschema.Regexp, text string) {
	if pattern == nil {
		return
	}
	p := pattern.String()
	perByte, known := w.patternWork[p]
	if !known {
		perByte = policy.MatchWork(p)
		w.patternWork[p] = perByte
	}
	w.left -= perByte * len(text)
}

func (w *scale) object(s *jsonschema.Schema, v map[string]any) bool {
	w.left -= workPass * (4*len(s.Required) + w.passed(len(v)) + len(s.Dependencies) + len(s.DependentSchemas) + len(s.DependentRequired))
	for key, each := range v {
		under, _ := members(s, key, func(p jsonschema.Regexp) bool { w.match(p, key); return true })
		if !w.inside(under, each) || !w.all(dependent(s, key), v) {
			return false
		}
		if s.PropertyNames != nil && !w.inside([]*jsonschema.Schema{s.PropertyNames}, key) {
			return false
		}
		for _, names := range [][]string{s.DependentRequired[key], dependentNames(s, key)} {
			w.left -= 4 * workPass * len(names)
		}
	}
	return w.left >= 0
}

// passed is how many steps it takes to go through n members or elements, and to keep
// account of those that no schema has looked at.
func (w *scale) passed(n int) int {
	if w.tree.unevaluated {
		return 40 * n
	}
	return 6 * n
}

func dependentNames(s *jsonschema.Schema, key string) []string {
	names, _ := s.Dependencies[key].([]string)
	return names
}

func (w *scale) array(s *jsonschema.Schema, v []any) bool {
	if s.UniqueItems {
		// Up to 20 are compared each with each, more by their hashes.
		w.left -= comparing(v) * min(max(len(v), 1), 20)
	}
	if w.tree.unevaluated {
		w.left -= workPass * w.passed(len(v))
	}
	for i, each := range v {
		if under := elements(s, i); len(under) == 0 && i >= len(s.PrefixItems) {
			break // nor are there any of those behind it
		} else if !w.inside(under, each) {
			return false
		}
	}
	return w.left >= 0
}

// comparing is the work of comparing v with another.
func comparing(v any) int {
	work := workCompare
	switch v := v.(type) {
	case map[string]any:
		for _, each := range v {
			work += comparing(each)
		}
	case []any:
		for _, each := range v {
			work += comparing(each)
		}
	case json.Number:
		work += reading(v)
	}
	return work
}

// reading is the work of making a fraction of a number.
func reading(n json.Number) int {
	if strings.ContainsAny(string(n), "eE") {
		return 50 * (len(n) + MaxExponent)
	}
	return 50 * len(n)
}
