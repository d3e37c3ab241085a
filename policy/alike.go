package policy

import (
	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
)

// alike looks for a key of an object that is not name but may be taken for it. The
// object has no member of that name.
func (j *judgement) alike(v *value, name string) error {
	for _, key := range v.keys {
		if !j.spend(5) || !fold.Plain(key) && !j.spend(foldWork(key)) {
			return errTooMuch
		}
		if fold.Same(key, name) {
			return alikeError{key, name}
		}
	}
	return nil
}

// alikeWithin looks for such a key in all objects of v.
func (j *judgement) alikeWithin(v *value, names []string) error {
	if v.kind == isObject {
		for _, name := range names {
			if !j.spend(len(v.keys)) {
				return errTooMuch
			}
			if v.member(name) != nil {
				continue
			}
			if err := j.alike(v, name); err != nil {
				return err
			}
		}
	}
	for i := range v.items {
		if kind := v.items[i].kind; kind != isObject && kind != isArray {
			continue
		}
		if !j.spend(20) {
			return errTooMuch
		}
		if err := j.alikeWithin(&v.items[i], names); err != nil {
			return err
		}
	}
	return nil
}

// foldWork is what it takes to fold a name beyond ASCII.
func foldWork(name string) int { return 500 + 200*len(name) }
