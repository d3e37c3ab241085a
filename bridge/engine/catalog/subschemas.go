package catalog

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schemaTree is a compiled schema with all that it leads to. Where references
// lead is the validator's to say: who resolves them by the text sees other schemas
// than are checked (FINDINGS M3).
type schemaTree struct {
	root        *jsonschema.Schema
	inPlace     map[*jsonschema.Schema][]*jsonschema.Schema // those that a schema always brings along about the same value
	dynamic     map[string][]*jsonschema.Schema             // those with a $dynamicAnchor, any of which a reference may come to mean
	entered     map[*jsonschema.Schema]bool                 // those that a $recursiveRef may come to mean
	unevaluated bool                                        // whether any asks which members are left
}

// maxDynamic is how many places by one name are looked for.
const maxDynamic = 64

// newSchemaTree takes what c has compiled at "tool:schema" of this text. It is nil
// where it cannot be told where the dynamic references lead.
func newSchemaTree(c *jsonschema.Compiler, root *jsonschema.Schema, text any) *schemaTree {
	t := &schemaTree{root: root, inPlace: map[*jsonschema.Schema][]*jsonschema.Schema{}, dynamic: map[string][]*jsonschema.Schema{},
		entered: map[*jsonschema.Schema]bool{root: true}}
	names := map[string]bool{}
	t.add(root, names)
	if len(names) == 0 {
		return t
	}
	// One that only a dynamic reference leads to is in no member of the others.
	places := anchorPlaces(text, names, "", nil)
	if len(places) > maxDynamic {
		return nil
	}
	for _, place := range places {
		if s, err := c.Compile("tool:schema#" + place); err == nil {
			t.add(s, names)
		}
	}
	return t
}

// add walks what s leads to, each once. names are the anchors that dynamic references name.
func (t *schemaTree) add(s *jsonschema.Schema, names map[string]bool) {
	for todo := []*jsonschema.Schema{s}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, known := t.inPlace[s]; known {
			continue
		}
		t.inPlace[s] = inPlaceOf(s)
		todo = append(append(todo, t.inPlace[s]...), elsewhereOf(s)...)
		t.unevaluated = t.unevaluated || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
		if s.DynamicAnchor != "" {
			t.dynamic[s.DynamicAnchor] = append(t.dynamic[s.DynamicAnchor], s)
		}
		if s.DynamicRef != nil {
			names[s.DynamicRef.Anchor] = true
		}
		// What somebody refers to, or has a name of its own, may be where a resource is
		// entered, which is what a $recursiveRef looks for.
		for _, to := range referred(s) {
			t.entered[to] = true
			todo = append(todo, to)
		}
	}
}

// referred are the schemas that s refers to by name, itself if it has one.
func referred(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.PropertyNames}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	if s.ID != "" {
		all = append(all, s)
	}
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}

// anchorPlaces are where a text has a $dynamicAnchor by one of the names, as the
// fragment of an address.
func anchorPlaces(text any, names map[string]bool, at string, places []string) []string {
	switch text := text.(type) {
	case map[string]any:
		if name, ok := text["$dynamicAnchor"].(string); ok && names[name] {
			places = append(places, at)
		}
		for _, key := range slices.Sorted(maps.Keys(text)) {
			escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			places = anchorPlaces(text[key], names, at+"/"+url.PathEscape(escaped), places)
		}
	case []any:
		for i, each := range text {
			places = anchorPlaces(each, names, at+"/"+strconv.Itoa(i), places)
		}
	}
	return places
}

// meant are the schemas that a reference of s may come to mean, which is decided by
// the way that led to s. All of them is more than the validator takes.
func (t *schemaTree) meant(s *jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	if to := s.RecursiveRef; to != nil && !to.RecursiveAnchor {
		all = append(all, to)
	} else if to != nil && t.root.RecursiveAnchor {
		all = append(all, t.root) // it is always the outermost
	} else if to != nil {
		all = slices.AppendSeq(all, maps.Keys(t.entered))
	}
	if d := s.DynamicRef; d != nil && (d.Anchor == "" || d.Ref.DynamicAnchor != d.Anchor) {
		all = append(all, d.Ref)
	} else if d != nil {
		all = append(all, t.dynamic[d.Anchor]...)
	}
	return all
}

// inPlaceOf are the schemas that s brings along about the same value. Those of its
// dynamic references are not among them, nor those that depend on a member.
func inPlaceOf(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}

// dependent are the schemas about the same value if it has a member by this name.
func dependent(s *jsonschema.Schema, key string) (all []*jsonschema.Schema) {
	if one, ok := s.DependentSchemas[key]; ok {
		all = append(all, one)
	}
	if one, ok := s.Dependencies[key].(*jsonschema.Schema); ok {
		all = append(all, one)
	}
	return all
}

// elsewhereOf are all others that s leads to.
func elsewhereOf(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema}
	for _, each := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch each := each.(type) {
		case *jsonschema.Schema:
			all = append(all, each)
		case []*jsonschema.Schema:
			all = append(all, each...)
		}
	}
	for _, each := range s.Properties {
		all = append(all, each)
	}
	for _, each := range s.PatternProperties {
		all = append(all, each)
	}
	for _, each := range s.DependentSchemas {
		all = append(all, each)
	}
	for _, each := range s.Dependencies {
		if one, ok := each.(*jsonschema.Schema); ok {
			all = append(all, one)
		}
	}
	all = append(all, s.PrefixItems...)
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}

// members are the schemas that may be about the member by this name, and whether it
// is one of the properties of s.
func members(s *jsonschema.Schema, key string, matches func(jsonschema.Regexp) bool) (under []*jsonschema.Schema, listed bool) {
	one, listed := s.Properties[key]
	if listed {
		under = append(under, one)
	}
	for pattern, one := range s.PatternProperties {
		if matches(pattern) {
			under = append(under, one)
		}
	}
	if listed {
		return under, true
	}
	if one, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		under = append(under, one)
	}
	if s.UnevaluatedProperties != nil {
		under = append(under, s.UnevaluatedProperties)
	}
	return under, false
}

// elements are the schemas of the element at i.
func elements(s *jsonschema.Schema, i int) (under []*jsonschema.Schema) {
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		under = append(under, items)
	case []*jsonschema.Schema:
		if i < len(items) {
			under = append(under, items[i])
		} else if rest, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
			under = append(under, rest)
		}
	}
	if i < len(s.PrefixItems) {
		under = append(under, s.PrefixItems[i])
	} else if s.Items2020 != nil {
		under = append(under, s.Items2020)
	}
	for _, one := range []*jsonschema.Schema{s.Contains, s.UnevaluatedItems} {
		if one != nil {
			under = append(under, one)
		}
	}
	return under
}
