package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A misfit is where arguments do not fit their schema, and why. It goes to all in the
// topic and on record, so it never holds a value of theirs.
type misfit struct {
	way     []string // to the place
	keyword string   // of the schema, "" if it is none
	why     string   // it may name what stands at the place, but no value
}

func (m *misfit) Error() string { return at(m.way) + m.why }

// within is the misfit as a policy lets it be told. Of what is hidden not even the names
// of its members are told.
func (m *misfit) within(p *policy.Policy) string {
	for i := range m.way {
		if p.Hides(m.way[:i+1]) {
			return at(m.way[:i+1]) + cmp.Or(m.keyword, "it") + " does not fit, and redact hides what is there"
		}
	}
	return m.Error()
}

// at names a place by its JSON pointer, and the whole by nothing.
func at(way []string) string {
	if len(way) == 0 {
		return ""
	}
	var pointer strings.Builder
	for _, step := range way {
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	quoted := fmt.Sprintf("%q", pointer.String())
	return "at '" + strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), "'", `\'`) + "': "
}

// firstMisfit is the first place at which arguments do not fit, as the validator's order is
// that of a map.
func firstMisfit(err error) error {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err
	}
	for len(v.Causes) > 0 && misnamed(v) == "" { // below that, the name is the value and has no place
		v = slices.MinFunc(v.Causes, byPlace)
	}
	m := &misfit{way: v.InstanceLocation, why: withoutValue(v)}
	if path := v.ErrorKind.KeywordPath(); len(path) > 0 {
		m.keyword = path[0]
	}
	return m
}

func byPlace(a, b *jsonschema.ValidationError) int {
	return cmp.Or(slices.Compare(a.InstanceLocation, b.InstanceLocation), cmp.Compare(a.SchemaURL, b.SchemaURL),
		slices.Compare(a.ErrorKind.KeywordPath(), b.ErrorKind.KeywordPath()), cmp.Compare(misnamed(a), misnamed(b)))
}

// misnamed is the name of a member that propertyNames is against, "" of any other error.
func misnamed(v *jsonschema.ValidationError) string {
	if k, ok := v.ErrorKind.(*kind.PropertyNames); ok {
		return "'" + k.Property + "'"
	}
	return ""
}

// withoutValue is what the validator has against a value, less that value.
func withoutValue(v *jsonschema.ValidationError) string {
	switch k := v.ErrorKind.(type) {
	case *kind.Pattern:
		return "it does not match the pattern '" + k.Want + "'"
	case *kind.Format:
		return "it is not valid " + k.Want
	case *kind.ContentEncoding:
		return "it is not " + k.Want + " encoded"
	case *kind.ContentMediaType:
		return "it is not of the media type " + k.Want
	case *kind.InvalidJsonValue:
		return "a number too large to be checked"
	case *kind.Required:
		names := k.Missing[:min(len(k.Missing), 16)]
		if len(names) == 1 {
			return "property " + names[0] + " is missing"
		}
		return "properties " + strings.Join(names, ", ") + " are missing"
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		k.Properties = k.Properties[:min(len(k.Properties), 16)] // there may be as many as fit into a frame
	}
	here := *v
	here.InstanceLocation, here.Causes = nil, nil
	words := strings.TrimPrefix(here.Error(), "at '': ")
	if before, got, found := strings.Cut(words, ": got "); found && measures(v.ErrorKind) {
		_, want, _ := strings.Cut(got, ", ")
		return before + ": " + want
	}
	return words
}

// measures reports whether a kind of error says "got N, want M" of a value.
func measures(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum, *kind.ExclusiveMaximum, *kind.MultipleOf,
		*kind.MinLength, *kind.MaxLength, *kind.MinItems, *kind.MaxItems, *kind.MinProperties, *kind.MaxProperties:
		return true
	}
	return false
}
