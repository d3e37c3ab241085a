package catalog

import (
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
)

// A speller holds the keys of arguments against those that a schema names, as far
// down as both go. A key that is none of them but is taken for one by a lenient
// server (package fold) is not seen by what the schema says of that one: whether the
// arguments fit cannot be told (FINDINGS H1).
type speller struct {
	tree  *schemaTree
	names map[*jsonschema.Schema]map[string]string // what each names, as it is folded
	left  int                                      // work that may still be done
	way   []string                                 // to the value that is looked at
}

// spelled returns an error for arguments with such a key. They fit otherwise.
func spelled(tree *schemaTree, names map[*jsonschema.Schema]map[string]string, arguments any) error {
	return (&speller{tree: tree, names: names, left: maxCheck}).value(arguments, []*jsonschema.Schema{tree.root})
}

// value looks at a value that some schemas are about.
func (p *speller) value(v any, about []*jsonschema.Schema) error {
	if len(about) == 0 {
		return nil
	}
	if about = p.together(about); p.left < 0 {
		return ErrTooMuchToCheck
	}
	switch v := v.(type) {
	case map[string]any:
		return p.object(v, about)
	case []any:
		for i, item := range v {
			var under []*jsonschema.Schema
			for _, s := range about {
				under = append(under, elements(s, i)...)
			}
			if err := p.member(strconv.Itoa(i), item, under); err != nil {
				return err
			}
		}
	}
	return nil
}

// member looks at a member of the value in hand.
func (p *speller) member(step string, v any, about []*jsonschema.Schema) error {
	p.way = append(p.way, step)
	defer func() { p.way = p.way[:len(p.way)-1] }()
	return p.value(v, about)
}

func (p *speller) object(v map[string]any, about []*jsonschema.Schema) error {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if p.left -= workCompare * len(about); p.left < 0 {
			return ErrTooMuchToCheck
		}
		var under []*jsonschema.Schema
		named := false
		for _, s := range about {
			more, listed := members(s, key, func(p jsonschema.Regexp) bool { return p.MatchString(key) })
			under = append(under, more...)
			named = named || listed || slices.Contains(s.Required, key)
		}
		if meant, ok := p.meant(key, about); ok && !named {
			return &misfit{way: slices.Clone(p.way), why: "many servers take the key " + strconv.QuoteToASCII(refusal.Clip(key)) + " for " + strconv.QuoteToASCII(refusal.Clip(meant)) + "; spell it exactly"}
		}
		if err := p.member(key, v[key], under); err != nil {
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
	for _, name := range append(slices.Sorted(maps.Keys(s.Properties)), s.Required...) {
		names[fold.Name(name)] = name
	}
	p.names[s] = names
	return names
}

// together are all schemas that may say something of the same value, each once.
func (p *speller) together(about []*jsonschema.Schema) (all []*jsonschema.Schema) {
	known := map[*jsonschema.Schema]bool{}
	add := func(more ...*jsonschema.Schema) {
		for _, s := range more {
			if !known[s] {
				known[s] = true
				all = append(all, s)
			}
		}
	}
	add(about...)
	for i := 0; i < len(all); i++ {
		s := all[i]
		if p.left -= workVisit; p.left < 0 {
			return all
		}
		add(p.tree.inPlace[s]...)
		add(p.tree.meant(s)...)
		for _, name := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
			add(s.DependentSchemas[name])
		}
		for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
			add(dependent(s, name)...)
		}
	}
	return all
}
