package bridge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A speller holds the keys of arguments against those that a schema names, as far
// down as both go. A key that is none of them but is taken for one by a lenient
// server (package fold) is not seen by what the schema says of that one: whether the
// arguments fit cannot be told (FINDINGS H1).
type speller struct {
	names map[*jsonschema.Schema]map[string]string // what each names, as it is folded
	left  int                                      // work that may still be done
}

// spelled returns an error for arguments with such a key. They fit otherwise.
func spelled(s *jsonschema.Schema, names map[*jsonschema.Schema]map[string]string, arguments any) error {
	return (&speller{names, maxCheck}).value(arguments, []*jsonschema.Schema{s})
}

// value looks at a value that some schemas are about.
func (p *speller) value(v any, about []*jsonschema.Schema) error {
	if len(about) == 0 {
		return nil
	}
	about = inPlace(about)
	if p.left -= workVisit * len(about); p.left < 0 {
		return errTooMuchToCheck
	}
	switch v := v.(type) {
	case map[string]any:
		return p.object(v, about)
	case []any:
		for i, item := range v {
			if err := p.value(item, elements(about, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *speller) object(v map[string]any, about []*jsonschema.Schema) error {
	for _, key := range sorted(v) {
		if p.left -= workCompare * len(about); p.left < 0 {
			return errTooMuchToCheck
		}
		var under []*jsonschema.Schema
		named := false
		for _, s := range about {
			one, listed := s.Properties[key]
			if named = named || listed || slices.Contains(s.Required, key); listed {
				under = append(under, one)
				continue
			}
			for pattern, one := range s.PatternProperties {
				if pattern.MatchString(key) {
					under = append(under, one)
				}
			}
			if one, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
				under = append(under, one)
			}
		}
		if meant, ok := p.meant(key, about); ok && !named {
			return fmt.Errorf("many servers take the key %s for %s; spell it exactly", strconv.QuoteToASCII(clip(key)), strconv.QuoteToASCII(clip(meant)))
		}
		if err := p.value(v[key], under); err != nil {
			return err
		}
	}
	return nil
}

// meant is the name that a key may be taken for.
func (p *speller) meant(key string, about []*jsonschema.Schema) (name string, ok bool) {
	folded := fold.Name(key)
	for _, s := range about {
		if name, ok = p.folded(s)[folded]; ok {
			return name, true
		}
	}
	return "", false
}

func (p *speller) folded(s *jsonschema.Schema) map[string]string {
	names, known := p.names[s]
	if known {
		return names
	}
	names = map[string]string{}
	for _, name := range append(sorted(s.Properties), s.Required...) {
		names[fold.Name(name)] = name
	}
	p.names[s] = names
	return names
}

// inPlace are all schemas that say something of the same value, each once.
func inPlace(about []*jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Clone(about)
	add := func(more ...*jsonschema.Schema) {
		for _, s := range more {
			if s != nil && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	for i := 0; i < len(all); i++ {
		s := all[i]
		add(s.Ref, s.RecursiveRef, s.If, s.Then, s.Else)
		add(slices.Concat(s.AllOf, s.AnyOf, s.OneOf)...)
		if s.DynamicRef != nil {
			add(s.DynamicRef.Ref)
		}
		for _, name := range sorted(s.DependentSchemas) {
			add(s.DependentSchemas[name])
		}
	}
	return all
}

// elements are the schemas of one element of a list.
func elements(about []*jsonschema.Schema, i int) (under []*jsonschema.Schema) {
	for _, s := range about {
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
	}
	return under
}

// methods are those of MCP that a server may be asked for, as they are folded.
var methods = func() map[string]string {
	all := map[string]string{}
	for _, method := range []string{"initialize", "ping", "server/discover", "tools/list", "tools/call", "tools/request",
		"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
		"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "subscriptions/listen",
		"tasks/list", "tasks/get", "tasks/result", "tasks/cancel", "tasks/update",
		"sampling/createMessage", "elicitation/create", "roots/list"} {
		all[fold.Name(method)] = method
	}
	return all
}()

// resemblesMethod reports whether a method is not one of MCP's, but is to a careless
// server: rules that name the one would say nothing of the other.
func resemblesMethod(method string) bool {
	meant := methods[fold.Name(strings.TrimSpace(method))]
	return meant != "" && meant != method
}

// clash says what a participant's _meta holds that is one, to a lenient server, with
// something that the server's revision has us put beside it.
func (h *Hello) clash(meta []byte) error {
	if !h.Modern || len(meta) < 3 || meta[0] != '{' {
		return nil
	}
	beside := h.metaBeside(meta)
	if len(beside) == 0 {
		return nil
	}
	both := slices.Concat([]byte("{"), beside, []byte(","), meta[1:])
	if err := jsonrpc.Scan(both, jsonrpc.Called, nil, nil); isReason(err, jsonrpc.KeysAlike) {
		return err
	}
	return nil
}
