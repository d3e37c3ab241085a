package policy

import (
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
)

// An alikeError is a key that is not the one a test asks for, but is to a server
// that ignores case, or form, or what follows a NUL (package fold). Whether the test
// holds cannot be told then (FINDINGS H1).
type alikeError struct{ key, meant string }

func (e alikeError) Error() string {
	return "many servers take its key " + visible(e.key) + " for " + visible(e.meant)
}

// visible is a key in ASCII, cut.
func visible(key string) string {
	if runes := []rune(key); len(runes) > 40 {
		return strconv.QuoteToASCII(string(runes[:40])) + "…"
	}
	return strconv.QuoteToASCII(key)
}

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

// foldWork is what it takes to fold a name beyond ASCII.
func foldWork(name string) int { return 500 + 200*len(name) }

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

// A keyset holds the keys of an object so far.
type keyset struct {
	exact bool // only keys that are equal count as one
	few   []string
	many  map[string]string // all of them, as they are folded, once few would take long to look through
}

// again returns the key that was added before and is one with this to a lenient
// reader, and adds it.
func (k *keyset) again(key string) (twin string, found bool) {
	switch {
	case k.many != nil:
		name := k.name(key)
		if twin, found = k.many[name]; !found {
			k.many[name] = key
		}
		return twin, found
	case len(k.few) < 16:
		for _, twin := range k.few {
			if twin == key || !k.exact && fold.Same(twin, key) {
				return twin, true
			}
		}
		k.few = append(k.few, key)
		return "", false
	}
	k.many = make(map[string]string, 2*len(k.few))
	for _, twin := range k.few {
		k.many[k.name(twin)] = twin
	}
	return k.again(key)
}

func (k *keyset) name(key string) string {
	if k.exact {
		return key
	}
	return fold.Name(key)
}
